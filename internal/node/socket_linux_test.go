package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestEveryConnectionOfALimitedClientBoundsItsUnackedBytes(t *testing.T) {
	t.Parallel()
	certificate := selfSigned(t)
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true}
	for name, config := range map[string]*tls.Config{"plain": nil, "TLS": secure} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			if config != nil {
				l = tls.NewListener(l, config)
			}
			listen(t, l)
			client := clientFor(t, &redis.Options{Addr: l.Addr().String(), TLSConfig: config})
			var timeouts []int
			client.AddHook(onDial(func(c net.Conn) { timeouts = append(timeouts, userTimeout(t, c)) }))
			require.NoError(t, client.Ping(t.Context()).Err())
			require.Equal(t, []int{0}, timeouts) // a connection that was there before is left as it was
			LimitUnacked(client)
			require.NoError(t, NewTransport(client.WithTimeout(time.Minute)).Exec(pings(1)))
			require.Equal(t, []int{0, int(unackedLimit.Milliseconds())}, timeouts) // pipelines have a pool of their own
		})
	}
}

func pings(n int) []*Command {
	cmds, _ := commandsOf(make([][]any, n)...)
	for _, c := range cmds {
		c.reset([]any{"ping"})
	}
	return cmds
}

func userTimeout(t *testing.T, c net.Conn) (timeout int) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		timeout, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
	}))
	require.NoError(t, err)
	return timeout
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
