// Pause holds a pod's namespaces: as process 1 of its sandbox it reaps orphans, and SIGINT or SIGTERM ends it at once.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	// What ended before it was listened for sends no signal any more.
	reap()
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap takes all children that ended: their signals may have become one.
func reap() {
	for {
		if child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.EINTR && child <= 0 {
			return
		}
	}
}
