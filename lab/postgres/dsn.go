package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// DSN names a PostgreSQL database, and a user of it, as a URL does.
type DSN struct {
	User, Password string
	Host           string
	Port           int
	Database       string
	SSLMode        string // "": what each client does by itself
}

// DSNForm is what a DSN looks like, for messages.
const DSNForm = "postgres://USER:PASSWORD@HOST:PORT/DATABASE"

// Masked stands where a password was.
const Masked = "***"

var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// ParseDSN reads postgres://user:password@host:port/database?sslmode=…; the
// port is 5432 where none is given. Without a password there it is that of the
// environment, PGPASSWORD, which is not seen in lists of processes. Its errors
// never repeat the password.
func ParseDSN(text string) (DSN, error) {
	bad := func(format string, a ...any) (DSN, error) {
		return DSN{}, fmt.Errorf("%s: %s; want %s", MaskDSN(text), fmt.Sprintf(format, a...), DSNForm)
	}
	u, err := url.Parse(text)
	if strings.Count(text, "@") > 1 {
		return bad("more than one @ (write special characters of a password as %%XX)")
	}
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the URL, which holds the password
		}
		if strings.Contains(err.Error(), "userinfo") || strings.Contains(err.Error(), "port") {
			return bad("not a URL (write special characters of a password as %%XX)")
		}
		return bad("not a URL: %v", err)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return bad("it does not begin with postgres://")
	}
	d := DSN{Host: u.Hostname(), Port: 5432, Database: strings.TrimPrefix(u.Path, "/")}
	if u.User != nil {
		d.User = u.User.Username()
		d.Password, _ = u.User.Password()
	}
	if d.Password == "" {
		d.Password = os.Getenv("PGPASSWORD")
	}
	switch {
	case u.Opaque != "" || d.Host == "":
		return bad("no host")
	case d.User == "":
		return bad("no user")
	case d.Database == "" || strings.Contains(d.Database, "/"):
		return bad("no database")
	case u.Fragment != "":
		return bad("a fragment (#) in it")
	}
	if u.Port() != "" {
		if d.Port, err = strconv.Atoi(u.Port()); err != nil || d.Port < 1 || d.Port > 65535 {
			return bad("port %s is none", u.Port())
		}
	}
	for key, values := range u.Query() {
		d.SSLMode = values[0]
		if key != "sslmode" || len(values) > 1 || !slices.Contains(sslModes, d.SSLMode) {
			return bad("the parameter %s=%s; it may have sslmode, one of %s", key, strings.Join(values, ","), strings.Join(sslModes, ", "))
		}
	}
	return d, nil
}

// MaskDSN is text with the password of a URL in it replaced, whatever else is
// wrong with it: rather too much than too little.
func MaskDSN(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		if strings.ContainsAny(text, "@=") { // half a URL, or libpq's key=value form
			return Masked
		}
		return text
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return text
	}
	user, _, secret := strings.Cut(rest[:at], ":")
	if !secret {
		return text
	}
	return scheme + "://" + user + ":" + Masked + rest[at:]
}

// String is the DSN without its password.
func (d DSN) String() string {
	u := d.url("postgres", "sslmode", "")
	u.User = url.User(d.User)
	if d.Password != "" {
		return strings.Replace(u.String(), "@", ":"+Masked+"@", 1) // url.UserPassword would escape the stars
	}
	return u.String()
}

// JDBC is its URL for Java's blocking drivers, with the lab's schema and without
// user and password.
func (d DSN) JDBC() string { return "jdbc:" + d.url("postgresql", "sslmode", "currentSchema").String() }

// R2DBC is the same for the reactive drivers.
func (d DSN) R2DBC() string { return "r2dbc:" + d.url("postgresql", "sslMode", "schema").String() }

// url spells the DSN for a client that calls its parameters so; the schema is
// left out where its name is "".
func (d DSN) url(scheme, sslMode, schema string) *url.URL {
	u := &url.URL{Scheme: scheme, Host: net.JoinHostPort(d.Host, strconv.Itoa(d.Port)), Path: "/" + d.Database}
	query := url.Values{}
	if schema != "" {
		query.Set(schema, Schema)
	}
	if d.SSLMode != "" {
		query.Set(sslMode, d.SSLMode)
	}
	u.RawQuery = query.Encode()
	return u
}

// Placeholders are what a SUT may be told of the database.
func (d DSN) Placeholders() map[string]string {
	return map[string]string{"jdbc": d.JDBC(), "r2dbc": d.R2DBC(), "postgres_user": d.User, "postgres_password": d.Password}
}

// Schema is where the tables are. It is part of the URLs that SUTs get,
// so that in a user's own database nothing of theirs is touched or hidden.
const Schema = "loomlab"

// Libpq is the URL for libpq, without the password.
func (d DSN) Libpq() string {
	u := d.url("postgresql", "sslmode", "")
	u.User = url.User(d.User)
	return u.String()
}
