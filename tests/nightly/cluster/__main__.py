"""`python -m tests.nightly.cluster [--replicas N] [--workers M] [--model NAME] [--port P]`: PostgreSQL, an S3 server,
replicas, workers and a proxy on loopback, until Ctrl-C.

The model is `scripted` unless another is given, whose settings are those of this environment.
"""

from __future__ import annotations

import argparse
import signal

from tests.nightly.cluster.cluster import Balancer, running_cluster


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly.cluster")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--port", type=int, default=0, help="of the proxy; default any free one")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print("Starting PostgreSQL, an S3 server, replicas and workers ...", flush=True)
    try:
        with running_cluster(given.replicas, given.workers, model=given.model) as cluster:
            balancer = Balancer(cluster, given.port)
            for process in (*cluster.replicas, *cluster.workers):
                print(f"  {process.folder.name:<10} {process.base_url}  (log: {process.log})")
            print(f"  database   {cluster.env['AGENTSVC_DATABASE']}")
            print(f"  secret     {cluster.env['AGENTSVC_SECRET']}")
            print(f"  contents   {cluster.env['AGENTSVC_BLOBS']} at {cluster.s3.url}")
            print(f"The cluster answers at {balancer.base_url}; its key is {cluster.api_key}")
            print("Ctrl-C ends all of it.", flush=True)
            try:
                signal.pause()
            finally:
                balancer.close()
    except KeyboardInterrupt:
        print("\nEnded.")


if __name__ == "__main__":
    main()
