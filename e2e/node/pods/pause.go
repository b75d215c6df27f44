package main

import (
	"os"
	"os/signal"
	"syscall"
)

// pause waits until a signal ends it. As the first process of its namespace it gets no signal that it has no
// handler for, and it inherits the orphans there.
func pause() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			break
		}
		reap()
	}
	return nil
}

// reap waits for all children that have ended: several ends may come as one signal.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
