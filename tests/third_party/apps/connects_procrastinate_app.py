"""An app of Procrastinate that connects while it is imported: libpq's sockets, which Python does not see."""

import os

import procrastinate
import psycopg

app = procrastinate.App(connector=procrastinate.PsycopgConnector())
psycopg.connect(f"host=127.0.0.1 port={os.environ['PROCRASTINATE_APP_PORT']} dbname=shop")


@app.task(name="charge")
def charge(order):
    raise SystemExit("production code ran")
