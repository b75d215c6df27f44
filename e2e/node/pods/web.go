package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// How long requests that are under way may take when the server gets the signal to end.
const grace = 5 * time.Second

// web serves the name of its pod at /, and at /load?for=30s keeps one processor busy for that long, in the background:
// real load for an autoscaler. The last request for load counts.
func web(port string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	var load load
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(answer, name)
	})
	mux.HandleFunc("POST /load", func(answer http.ResponseWriter, request *http.Request) {
		length, err := time.ParseDuration(request.URL.Query().Get("for"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		load.until(time.Now().Add(length))
		fmt.Fprintln(answer, name)
	})

	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: ":" + port, Handler: mux, ReadHeaderTimeout: grace}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ended.Done():
		limit, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		return server.Shutdown(limit)
	}
}

// load is work for one processor, up to a time that can be moved.
type load struct {
	end     atomic.Int64
	running atomic.Bool
}

func (l *load) until(end time.Time) {
	l.end.Store(end.UnixNano())
	if l.running.CompareAndSwap(false, true) {
		go l.work()
	}
}

func (l *load) work() {
	defer l.running.Store(false)
	for time.Now().UnixNano() < l.end.Load() {
	}
}
