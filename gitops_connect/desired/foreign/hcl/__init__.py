"""Reads the part of HCL (HashiCorp's configuration language) that resources with literal values need."""
