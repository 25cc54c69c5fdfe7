"""`gitops-connect run`: look at the repository, reconcile each cluster by itself, and go on whatever happens."""
