# SPDX-License-Identifier: Apache-2.0
"""Several hosts on this machine, as MPI sees a cluster: each with its own network, processes, host name, shared memory
and ssh server, all on one switch whose links have a set speed and can be cut.

      host node1              host node2              host node3          each: unshare --net --uts --mount --ipc --pid
    mpirun ─ rank 0         sshd ─ orted ─ rank 1    sshd ─ orted ─ rank 2
         eth0                    eth0                    eth0             10.42.0.x, shaped by tc
           └──── port1 ── switch ── port2 ──── port3 ─────┘               a bridge in a network namespace of its own

Nothing of it has a name outside of its namespaces, so that two runs cannot collide. A namespace lives as long as its
first process, which reads a pipe from this one: it ends when the `with` block ends, and also when this process is
killed; the kernel then ends every process of the host and removes its links.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import time

TOOLS = ("unshare", "nsenter", "ip", "tc", "ssh", "ssh-keygen", "sshd", "mpirun")
SEARCHED = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
NAMESPACES = ("--net", "--uts", "--mount", "--ipc", "--pid")

HOST = """set -e
hostname "$1"
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mkdir /run/sshd
mount --bind "$2" /etc/hosts
ip link set lo up
echo ready
read -r _ || true"""
SWITCH = """set -e
ip link add switch type bridge
ip link set switch up
echo ready
read -r _ || true"""
SSHD = """ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
"""
SSH = """Host *
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  BatchMode yes
  ConnectionAttempts 10
"""
# With these mpirun finds out within seconds that a host cannot be reached any more; by default it never does.
KEEPALIVE = {
    "OMPI_MCA_oob_tcp_keepalive_time": "5",
    "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
    "OMPI_MCA_oob_tcp_keepalive_probes": "3",
}


def tool(name):
    return shutil.which(name, path=SEARCHED)


def obstacle():
    """Why no hosts can be made here, or an empty text."""
    missing = [name for name in TOOLS if tool(name) is None]
    if missing:
        return f"test hosts need {', '.join(missing)} (scripts/packages.sh test installs them)"
    if os.geteuid() != 0:
        return "test hosts need root: they are made of namespaces"
    tried = subprocess.run(
        ["unshare", *NAMESPACES, "--fork", "ip", "link", "add", "probe", "type", "bridge"],
        capture_output=True, text=True, check=False,
    )
    return f"test hosts need namespaces with bridges: {tried.stderr.strip()}" if tried.returncode != 0 else ""


class Namespace:
    """Namespaces and the process that keeps them."""

    def __init__(self, flags, script, *arguments):
        self.keeper = subprocess.Popen(
            ["unshare", *flags, "--fork", "bash", "-c", script, "bash", *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        if self.keeper.stdout.readline() != "ready\n":
            self.close()
            raise OSError("a test host could not be set up; its message stands above")
        children = subprocess.run(["pgrep", "-P", str(self.keeper.pid)], capture_output=True, text=True, check=True)
        self.pid = int(children.stdout)

    def run(self, *command):
        """Runs a network command of this machine there."""
        subprocess.run(["nsenter", "-t", str(self.pid), "--net", *command], check=True)

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait(timeout=20)
        self.keeper.stdout.close()


class Hosts:
    """A context manager. `folder` is an empty one for keys and settings; `rate` as tc spells it ("1gbit"), or None:
    as fast as this machine is; `slots`: ranks of each host."""

    def __init__(self, folder, count, slots=1, rate=None):
        self.folder = pathlib.Path(folder)
        self.slots = slots
        self.names = [f"node{i + 1}" for i in range(count)]
        self.addresses = [f"10.42.0.{i + 1}" for i in range(count)]
        self.rate = rate
        self.cleanup = contextlib.ExitStack()
        self.hosts, self.servers = [], []
        self.switch = None

    def __enter__(self):
        with self.cleanup:
            self.write_settings()
            self.cleanup.callback(self.reap_servers)  # last: they end with their hosts
            self.switch = self.open(Namespace(["--net"], SWITCH))
            for name in self.names:
                script_arguments = (HOST, name, self.folder / "hosts")
                self.hosts.append(self.open(Namespace([*NAMESPACES, "--mount-proc"], *script_arguments)))
            for i in range(len(self.hosts)):
                self.connect(i)
            self.shape(self.rate)
            for i in range(1, len(self.hosts)):
                self.start_sshd(i)
            self.cleanup = self.cleanup.pop_all()
        return self

    def __exit__(self, *_):
        self.cleanup.close()

    def open(self, namespace):
        self.cleanup.callback(namespace.close)
        return namespace

    def write_settings(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for key in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(self.folder / key)], check=True
            )
        lines = [f"{address} {name}" for name, address in zip(self.names, self.addresses)]
        self.write("hosts", "127.0.0.1 localhost", *lines)
        self.write("hostfile", *(f"{name} slots={self.slots}" for name in self.names))
        key = (self.folder / "host_key.pub").read_text().strip()
        self.write("known_hosts", *(f"{name} {key}" for name in self.names))
        self.write("ssh_config", SSH.format(folder=self.folder))

    def write(self, name, *lines):
        (self.folder / name).write_text("\n".join(lines) + "\n")

    def connect(self, i):
        """A cable from host i to the switch."""
        port, host = f"port{i + 1}", self.hosts[i]
        self.switch.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        self.switch.run("ip", "link", "set", port, "master", "switch", "up")
        host.run("ip", "address", "add", f"{self.addresses[i]}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "up")

    def shape(self, rate):
        """Limits every link, each way; None: takes the limit away."""
        for i, host in enumerate(self.hosts):
            for namespace, device in ((host, "eth0"), (self.switch, f"port{i + 1}")):
                if rate is not None:
                    limit = ("rate", rate, "burst", "256kb", "latency", "50ms")
                    namespace.run("tc", "qdisc", "replace", "dev", device, "root", "tbf", *limit)
                elif self.rate is not None:
                    namespace.run("tc", "qdisc", "delete", "dev", device, "root")
        self.rate = rate

    def cut(self, i):
        """Pulls the cable of host i out of the switch; both ends only notice that nothing comes any more."""
        self.switch.run("ip", "link", "set", f"port{i + 1}", "nomaster")

    def restore(self, i):
        self.switch.run("ip", "link", "set", f"port{i + 1}", "master", "switch")

    def start_sshd(self, i):
        self.write(f"sshd_config{i}", SSHD.format(folder=self.folder, address=self.addresses[i]))
        log = self.folder / f"sshd{i}.log"
        server = subprocess.Popen(
            self.on(i, tool("sshd"), "-D", "-f", self.folder / f"sshd_config{i}", "-E", log), stdin=subprocess.DEVNULL
        )
        self.servers.append(server)
        deadline = time.monotonic() + 20
        while not log.exists() or "Server listening" not in log.read_text():
            if server.poll() is not None or time.monotonic() > deadline:
                raise OSError(f"sshd of {self.names[i]} does not run: {log.read_text() if log.exists() else ''}")
            time.sleep(0.02)

    def reap_servers(self):
        for server in self.servers:
            server.wait(timeout=20)

    def on(self, i, *command, cwd="/"):
        """The command line that runs a command on host i."""
        enter = ["nsenter", "-t", self.hosts[i].pid, *NAMESPACES, "env", "-C", cwd]
        return [str(word) for word in (*enter, *command)]

    def mpirun(self, *command, ranks=None, cwd="/", options=()):
        """The command line that starts ranks (all slots, host by host) from the first host."""
        count = ranks if ranks is not None else self.slots * len(self.hosts)
        launch = ["mpirun", "-n", count, "--map-by", "slot", "--bind-to", "none", "-x", "OMP_NUM_THREADS", *options]
        return self.on(0, *launch, *command, cwd=cwd)

    def environment(self):
        """What mpirun needs to find and enter the hosts."""
        return {
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": str(self.folder / "hostfile"),
            "OMPI_MCA_plm_rsh_agent": "ssh",
            "OMPI_MCA_plm_rsh_args": f"-F {self.folder / 'ssh_config'}",
        }

    def running(self, program):
        """Process ids, as this machine counts them, of a program's processes on the hosts."""
        spaces = {os.readlink(f"/proc/{host.pid}/ns/pid") for host in self.hosts}
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended
                is_program = os.path.realpath(entry / "exe") == os.path.realpath(program)
                if is_program and os.readlink(entry / "ns/pid") in spaces:
                    found.append(int(entry.name))
        return found
