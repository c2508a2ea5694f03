package record

// Postgres configures the PostgreSQL of an experiment: a tier of its own, fresh
// for every start of a SUT that uses it, with the tables users and orders.
type Postgres struct {
	Users  int `yaml:"users" json:"users"`   // rows of users
	Orders int `yaml:"orders" json:"orders"` // rows of orders, spread evenly over the users
	// Settings of the server, as in postgresql.conf; not of one that the user brings.
	Settings map[string]string `yaml:"settings" json:"settings"`
}

// PostgresServer says what answered under that name in a run.
type PostgresServer struct {
	Version string `json:"version"` // as the server says it
	// From is the Maven artifact of its programs, or the URL (without a password) of
	// the user's own database.
	From string `json:"from"`
	// Fresh says that every start of a SUT had a new one.
	Fresh bool     `json:"fresh"`
	Argv  []string `json:"argv,omitempty"` // of the first server
	// ReadyS is how long its first start took, initdb and seeding included.
	ReadyS *float64 `json:"ready_s,omitempty"`
}

// Database is what a database did over a window, seen from its processes' titles
// several times a second: it costs the database nothing, and needs no connection.
type Database struct {
	Samples     int     `json:"samples"`
	Connections int64   `json:"connections"` // of clients, most at once
	BusyMean    float64 `json:"busy_mean"`   // connections with a query (or a transaction) going on
	BusyMax     int64   `json:"busy_max"`
	// BusyMS is how long a request keeps a connection busy, all its queries
	// together: by Little's law, mean ÷ throughput.
	BusyMS *float64 `json:"busy_ms"`
}
