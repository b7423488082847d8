// Package protocols proves front ends for protocols with clients that others have written. Each client
// is a process of Node.js, and the host is a process that is killed while a person is asked.
//
// The package has only tests. They need the clients: see .ci/clients.sh.
package protocols
