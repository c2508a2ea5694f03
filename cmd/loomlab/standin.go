package main

import "github.com/urfave/cli/v2"

func standinCommand() *cli.Command {
	return &cli.Command{Name: "standin"}
}
