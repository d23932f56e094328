"""An app of Procrastinate that is opened while it is imported: its pool would try to connect for half a minute."""

import os

import procrastinate

conninfo = f"host=127.0.0.1 port={os.environ['PROCRASTINATE_APP_PORT']} dbname=shop"
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo)).open()


@app.task(name="charge")
def charge(order):
    raise SystemExit("production code ran")
