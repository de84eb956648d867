"""The program's HTTP face: metrics, records, endpoints and the gate page."""
