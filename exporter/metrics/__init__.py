"""What Prometheus reads: text rendered when a run changes, joined when it is scraped."""
