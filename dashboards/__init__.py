"""Four Grafana boards, written by ``python -m dashboards.build``; users import the JSON beside this file.

``panels`` and ``looks`` say how a thing is drawn, ``queries`` how it is asked for, ``frame`` what all boards share; the
four modules named for their boards say what stands on them.
"""
