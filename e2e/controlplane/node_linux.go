package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// What runs on a node: on Linux alone, where upstream builds them for.
func init() {
	components["kubelet"] = func() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) }
	components["kube-proxy"] = func() { os.Exit(cli.Run(kubeproxy.NewProxyCommand())) }
}
