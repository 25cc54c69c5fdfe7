"""The administrator's side: addresses, credentials and limits, from `gitops-connect.toml` and the environment."""
