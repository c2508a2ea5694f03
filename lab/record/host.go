package record

// Host is another machine (or a container of one) that tiers run on, reached by
// a program that the user already has: ssh, or a command of one's own.
type Host struct {
	// SSH is the destination as ssh(1) takes it: [user@]name, or a Host of its configuration.
	SSH string `yaml:"ssh" json:"ssh,omitempty"`
	// SSHOptions are words for ssh before the destination, such as [-F, lab.conf].
	SSHOptions []string `yaml:"ssh_options" json:"ssh_options,omitempty"`
	// Command is a prefix that runs a command there, stdin and stdout passed
	// through: [kubectl, exec, -i, pod, --]. The words of what is to run follow it,
	// or stand, quoted for a shell, where it says {{command}}.
	Command []string `yaml:"command" json:"command,omitempty"`
	// Address is where other tiers reach those on this host. "": for ssh, the
	// address that ssh connects to.
	Address string `yaml:"address" json:"address,omitempty"`
	// Dir is the folder for the program and jars; "" is ~/.cache/loomlab.
	Dir string `yaml:"dir" json:"dir,omitempty"`
	// Binary is a loomlab built for the host, where it is of another kind than this machine.
	Binary string `yaml:"binary" json:"binary,omitempty"`
	// CPUs are those that tiers may run on there, such as "0-3"; "": all.
	CPUs string `yaml:"cpus" json:"cpus,omitempty"`
}
