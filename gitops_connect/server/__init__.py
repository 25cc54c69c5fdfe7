"""The HTTP server of the daemon: status page, JSON API, metrics, webhooks. It reads snapshots, and changes nothing."""
