//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// servers are three machines, each with PostgreSQL under Patroni; etcd; HAProxy, which asks Patroni
// for the primary; and PgBouncer between the clients and HAProxy.
type servers struct {
	site     *site
	programs map[string]string
	machines []*machine
	password string

	etcd, etcdPeer, haproxy, pgbouncer int // ports
}

// machine is a folder with one Patroni and its PostgreSQL.
type machine struct {
	name      string
	port, api int
	patroni   *os.Process
}

// needed are the programs, and the folders in which Debian has them.
var needed = map[string][]string{
	"patroni":       {"/usr/bin"},
	"etcd":          {"/usr/bin"},
	"haproxy":       {"/usr/sbin"},
	"pgbouncer":     {"/usr/sbin"},
	"pg_basebackup": {os.Getenv("INTERLUDE_PG_BIN"), "/usr/lib/postgresql/*/bin"},
}

// findPrograms returns the paths of all programs, or names the missing ones.
func findPrograms() (map[string]string, error) {
	found, missing := make(map[string]string), []string(nil)
	for name, folders := range needed {
		for _, folder := range folders {
			if paths, err := filepath.Glob(filepath.Join(folder, name)); err == nil && len(paths) > 0 && folder != "" {
				found[name] = paths[len(paths)-1]
				break
			}
		}
		if path, err := exec.LookPath(name); found[name] == "" && err == nil {
			found[name] = path
		}
		if found[name] == "" {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		return nil, fmt.Errorf("missing: %s (Debian: apt-get install -y patroni etcd-server haproxy pgbouncer "+
			"postgresql)", strings.Join(missing, ", "))
	}
	return found, nil
}

func newServers(ctx context.Context, s *site) (*servers, error) {
	p := &servers{site: s, password: rand.Text()}
	var err error
	if p.programs, err = findPrograms(); err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 10)
	if err != nil {
		return nil, err
	}
	p.etcd, p.etcdPeer, p.haproxy, p.pgbouncer = ports[0], ports[1], ports[2], ports[3]
	for i := range 3 {
		p.machines = append(p.machines, &machine{name: fmt.Sprintf("n%d", i+1), port: ports[4+2*i], api: ports[5+2*i]})
	}
	return p, nil
}

// freePorts finds unused ports.
func freePorts(ctx context.Context, n int) (ports []int, _ error) {
	for range n {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		at, err := netip.ParseAddrPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, int(at.Port()))
	}
	return ports, nil
}

// start starts everything, and waits until the primary has two standbys.
func (p *servers) start(ctx context.Context) error {
	for _, folder := range []string{"etcd", "n1", "n2", "n3", "haproxy", "pgbouncer"} {
		if err := p.site.folder(folder); err != nil {
			return err
		}
	}
	if err := p.startEtcd(ctx); err != nil {
		return err
	}
	for i, m := range p.machines {
		if err := p.site.write(m.name+"/patroni.yml", p.config(m)); err != nil {
			return err
		}
		if err := p.startMachine(m); err != nil {
			return err
		}
		if i == 0 {
			if err := until(ctx, 2*time.Minute, "the first primary", func(ctx context.Context) error {
				_, err := p.primary(ctx)
				return err
			}); err != nil {
				return err
			}
		}
	}
	if err := p.startProxies(); err != nil {
		return err
	}
	if err := p.healthy(ctx); err != nil {
		return err
	}
	for _, port := range []int{p.haproxy, p.pgbouncer} {
		if err := until(ctx, time.Minute, "a proxy that leads to the primary", func(ctx context.Context) error {
			return p.query(ctx, port, new(int), `SELECT 1`)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *servers) startEtcd(ctx context.Context) error {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", p.etcd), fmt.Sprintf("http://127.0.0.1:%d", p.etcdPeer)
	if _, err := p.site.start("etcd", p.programs["etcd"], "--name", "one", "--data-dir", "data", "--enable-v2",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "one="+peer); err != nil {
		return err
	}
	return until(ctx, time.Minute, "etcd", func(ctx context.Context) error {
		return call(ctx, http.MethodGet, client+"/health", nil)
	})
}

func (p *servers) startMachine(m *machine) (err error) {
	m.patroni, err = p.site.start(m.name, p.programs["patroni"], "patroni.yml")
	return err
}

// config is Patroni's configuration: its defaults, with strict synchronous replication. It uses
// version 2 of etcd's interface. With version 3, a stopped Patroni 3.0.2 overwrites the key of the
// promoted leader when it continues, and acknowledged commits of that leader are lost.
func (p *servers) config(m *machine) string {
	return fmt.Sprintf(`scope: interlude
name: %[1]s
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
etcd: {hosts: ["127.0.0.1:%[3]d"]}
bootstrap:
  dcs:
    ttl: 30
    loop_wait: 10
    retry_timeout: 10
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 300, shared_buffers: 64MB}
  initdb: [{encoding: UTF8}, {locale: C}, data-checksums]
postgresql:
  listen: "127.0.0.1:%[4]d"
  connect_address: "127.0.0.1:%[4]d"
  data_dir: %[5]s/data
  bin_dir: %[6]s
  pgpass: %[5]s/pgpass
  parameters: {unix_socket_directories: ""}
  pg_hba:
  - host all postgres,rewinder 127.0.0.1/32 scram-sha-256
  - host replication replicator 127.0.0.1/32 scram-sha-256
  basebackup: [{checkpoint: fast}]
  authentication:
    superuser: {username: postgres, password: %[7]s}
    replication: {username: replicator, password: %[7]s}
    rewind: {username: rewinder, password: %[7]s}
watchdog: {mode: "off"}
`, m.name, m.api, p.etcd, m.port, filepath.Join(p.site.dir, m.name), filepath.Dir(p.programs["pg_basebackup"]),
		p.password)
}

// startProxies starts HAProxy, as Patroni's documentation configures it, and PgBouncer.
func (p *servers) startProxies() error {
	ha := fmt.Sprintf(`global
  maxconn 1000
defaults
  mode tcp
  retries 2
  timeout client 30m
  timeout connect 4s
  timeout server 30m
  timeout check 5s
listen primary
  bind 127.0.0.1:%d
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 3s fall 3 rise 2 on-marked-down shutdown-sessions
`, p.haproxy)
	for _, m := range p.machines {
		ha += fmt.Sprintf("  server %s 127.0.0.1:%d maxconn 300 check port %d\n", m.name, m.port, m.api)
	}
	bouncer := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
max_client_conn = 500
server_login_retry = 1
`, p.haproxy, p.password, p.pgbouncer)
	if err := p.site.write("haproxy/haproxy.cfg", ha); err != nil {
		return err
	}
	if err := p.site.write("pgbouncer/pgbouncer.ini", bouncer); err != nil {
		return err
	}
	if _, err := p.site.start("haproxy", p.programs["haproxy"], "-db", "-f", "haproxy.cfg"); err != nil {
		return err
	}
	_, err := p.site.start("pgbouncer", p.programs["pgbouncer"], "pgbouncer.ini")
	return err
}

// dsn returns a connection string for these ports.
func (p *servers) dsn(ports ...int) string {
	var hosts, numbers []string
	for _, port := range ports {
		hosts, numbers = append(hosts, "127.0.0.1"), append(numbers, fmt.Sprint(port))
	}
	text := fmt.Sprintf("host=%s port=%s user=postgres password=%s dbname=postgres sslmode=disable",
		strings.Join(hosts, ","), strings.Join(numbers, ","), p.password)
	switch {
	case len(ports) > 1:
		text += " target_session_attrs=read-write"
	case ports[0] == p.pgbouncer:
		text += " default_query_exec_mode=cache_describe"
	}
	return text
}

// query reads one value through a port. A server that does not respond is given up after two seconds.
func (p *servers) query(ctx context.Context, port int, value any, text string) error {
	return p.queryFor(ctx, 2*time.Second, port, value, text)
}

func (p *servers) queryFor(ctx context.Context, limit time.Duration, port int, value any, text string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.dsn(port))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, text).Scan(value)
}

// standing is a machine's server that accepts writes.
type standing struct {
	*machine

	timeline int64
}

// primary returns the primary on the highest timeline.
func (p *servers) primary(ctx context.Context) (best standing, _ error) {
	var all sync.WaitGroup
	timelines := make([]int64, len(p.machines))
	for i, m := range p.machines {
		all.Go(func() {
			if p.query(ctx, m.port, &timelines[i], `SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE
				('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint END`) != nil {
				timelines[i] = 0
			}
		})
	}
	all.Wait()
	for i, m := range p.machines {
		if timelines[i] > best.timeline {
			best = standing{m, timelines[i]}
		}
	}
	if best.machine == nil {
		return best, errors.New("no server accepts writes")
	}
	return best, nil
}

// synchronous returns the machine of the synchronous standby.
func (p *servers) synchronous(ctx context.Context, primary standing) (*machine, error) {
	var name string
	if err := p.query(ctx, primary.port, &name, `SELECT application_name FROM pg_stat_replication
		WHERE sync_state = 'sync' AND state = 'streaming'`); err != nil {
		return nil, fmt.Errorf("the synchronous standby: %w", err)
	}
	i := slices.IndexFunc(p.machines, func(m *machine) bool { return m.name == name })
	if i < 0 {
		return nil, fmt.Errorf("the synchronous standby is %q", name)
	}
	return p.machines[i], nil
}

// healthy waits until the primary has two standbys, a synchronous one among them, and each Patroni
// answers.
func (p *servers) healthy(ctx context.Context) error {
	return until(ctx, 4*time.Minute, "a primary with two standbys", func(ctx context.Context) error {
		primary, err := p.primary(ctx)
		if err != nil {
			return err
		}
		if _, err := p.synchronous(ctx, primary); err != nil {
			return err
		}
		var standbys int
		if err := p.query(ctx, primary.port, &standbys,
			`SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'`); err != nil || standbys != 2 {
			return errors.Join(err, fmt.Errorf("%d standbys", standbys))
		}
		for _, m := range p.machines {
			way := "/replica"
			if m == primary.machine {
				way = "/primary"
			}
			if err := call(ctx, http.MethodGet, m.url(way), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// promoted waits until a server was promoted after the primary.
func (p *servers) promoted(ctx context.Context, before standing) error {
	return until(ctx, 3*time.Minute, "the promotion of a standby", func(ctx context.Context) error {
		now, err := p.primary(ctx)
		if err == nil && now.timeline <= before.timeline {
			err = fmt.Errorf("the primary is still %s on timeline %d", now.name, now.timeline)
		}
		return err
	})
}

func (m *machine) url(way string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", m.api, way) }

// call makes a request, and fails unless its status is below 300.
func call(ctx context.Context, method, url string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, answer)
	}
	return err
}
