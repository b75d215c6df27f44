package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func etcd() {
	etcdmain.Main(os.Args)
}
