"""``make gpu-check``: everything that only a machine with GPUs can prove, run there, told in a table and recorded."""
