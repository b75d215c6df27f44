package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func apiServer() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
