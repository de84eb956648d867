"""Short-lived pods of the workload's own template, in which the probes see what the workload will see.

``manifest`` says what such a pod is, ``one_pod`` makes, follows and removes one, ``rounds`` says where one is due.
"""
