//go:build linux

package main

import (
	"context"
	"net/http"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// harm is a harm to the servers. It calls promoted as soon as a standby was promoted, and returns when
// nothing more is done; the servers then still recover.
type harm struct {
	name    string
	do      func(ctx context.Context, p *servers, primary standing, promoted func()) error
	prepare func(ctx context.Context, p *servers, primary standing) error
	long    bool // long turns are running; none may be interrupted
	left    bool // the old primary lives on: a connection string with all hosts must leave it
}

// harms are all harms in their order.
var harms = []harm{
	{name: "switchover", do: switchOver},
	{name: "machine killed", do: killMachine, long: true},
	{name: "manager stopped", do: stopManager, left: true},
	{name: "machine stopped", do: stopMachine},
	{name: "etcd gone", do: loseEtcd},
	{name: "etcd gone with failsafe_mode", prepare: failsafe, do: loseEtcdSafely},
	{name: "replica rebuilt", do: rebuildReplica},
	{name: "machine killed in a migration", prepare: oldDatabase, do: killDuringMigration},
}

// switchOver asks Patroni to exchange the primary and its synchronous standby.
func switchOver(ctx context.Context, p *servers, primary standing, promoted func()) error {
	next, err := p.synchronous(ctx, primary)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		done <- call(ctx, http.MethodPost, primary.url("/switchover"),
			map[string]string{"leader": primary.name, "candidate": next.name})
	}()
	if err := p.promoted(ctx, primary); err != nil {
		return err
	}
	promoted()
	return <-done
}

// killMachine kills Patroni and PostgreSQL of the primary, and starts them after the promotion.
func killMachine(ctx context.Context, p *servers, primary standing, promoted func()) error {
	if err := p.site.signal(primary.name, syscall.SIGKILL); err != nil {
		return err
	}
	if err := p.promoted(ctx, primary); err != nil {
		return err
	}
	promoted()
	cast.Pause(ctx, 5*time.Second)
	return p.startMachine(primary.machine)
}

// stopManager stops Patroni of the primary. Its PostgreSQL continues, next to the promoted one, for
// half a minute.
func stopManager(ctx context.Context, p *servers, primary standing, promoted func()) error {
	if err := primary.patroni.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := p.promoted(ctx, primary); err != nil {
		return err
	}
	promoted()
	cast.Pause(ctx, 30*time.Second)
	return primary.patroni.Signal(syscall.SIGCONT)
}

// stopMachine stops all processes of the primary's machine, which continue after the promotion.
func stopMachine(ctx context.Context, p *servers, primary standing, promoted func()) error {
	if err := p.site.signal(primary.name, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := p.promoted(ctx, primary); err != nil {
		return err
	}
	promoted()
	cast.Pause(ctx, 15*time.Second)
	return p.site.signal(primary.name, syscall.SIGCONT)
}

// loseEtcd kills etcd for 45 s. Patroni then demotes the primary, and promotes a server when etcd is back.
func loseEtcd(ctx context.Context, p *servers, primary standing, promoted func()) error {
	if err := p.etcdGone(ctx); err != nil {
		return err
	}
	if err := p.promoted(ctx, primary); err != nil {
		return err
	}
	promoted()
	return nil
}

// failsafe makes the primary remain without etcd while it reaches all other machines.
func failsafe(ctx context.Context, _ *servers, primary standing) error {
	err := call(ctx, http.MethodPatch, primary.url("/config"), map[string]bool{"failsafe_mode": true})
	cast.Pause(ctx, 25*time.Second) // two rounds of each Patroni
	return err
}

// loseEtcdSafely kills etcd for 45 s in failsafe_mode, and ends that mode.
func loseEtcdSafely(ctx context.Context, p *servers, primary standing, _ func()) error {
	if err := p.etcdGone(ctx); err != nil {
		return err
	}
	return until(ctx, time.Minute, "the end of failsafe_mode", func(ctx context.Context) error {
		return call(ctx, http.MethodPatch, primary.url("/config"), map[string]bool{"failsafe_mode": false})
	})
}

func (p *servers) etcdGone(ctx context.Context) error {
	if err := p.site.signal("etcd", syscall.SIGKILL); err != nil {
		return err
	}
	cast.Pause(ctx, 45*time.Second)
	return p.startEtcd(ctx)
}

// rebuildReplica deletes the synchronous standby's data, and copies the primary's.
func rebuildReplica(ctx context.Context, p *servers, primary standing, _ func()) error {
	m, err := p.synchronous(ctx, primary)
	if err != nil {
		return err
	}
	return call(ctx, http.MethodPost, m.url("/reinitialize"), map[string]bool{"force": true})
}
