"""`gitops-connect run`: polls the repository, reconciles each cluster independently, and continues after any error."""
