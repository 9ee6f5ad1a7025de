// Package gate checks tickets at the gate without a network.
package gate

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

var (
	// ErrForged means that no accepted key made the signature.
	ErrForged = errors.New("gate: signature does not verify")
	// ErrRevoked means that the ticket was refunded or exchanged.
	ErrRevoked = errors.New("gate: ticket was revoked")
	// ErrWrongSailing means that the ticket is good, but not for this boat.
	ErrWrongSailing = errors.New("gate: ticket is for another sailing")
)

// Ticket is what the QR code says.
type Ticket struct {
	Serial     uint64
	Sailing    uint32
	FareClass  byte
	Passengers byte
}

// Gate knows the public keys of this year and of the last one, and the revoked serial numbers.
type Gate struct {
	Keys    []ed25519.PublicKey
	Revoked *BloomFilter
	Sailing uint32
}

// VerifyTicket decodes a QR code and decides whether the passenger may board.
func (g *Gate) VerifyTicket(code string, now time.Time) (*Ticket, error) {
	raw, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || len(raw) != 14+ed25519.SignatureSize {
		return nil, ErrForged
	}
	body, signature := raw[:14], raw[14:]
	genuine := false
	for _, key := range g.Keys {
		genuine = genuine || ed25519.Verify(key, body, signature)
	}
	if !genuine {
		return nil, ErrForged
	}
	ticket := &Ticket{
		Serial:     binary.BigEndian.Uint64(body[:8]),
		Sailing:    binary.BigEndian.Uint32(body[8:12]),
		FareClass:  body[12],
		Passengers: body[13],
	}
	if g.Revoked.MayContain(ticket.Serial) {
		return ticket, ErrRevoked
	}
	if ticket.Sailing != g.Sailing {
		return ticket, ErrWrongSailing
	}
	return ticket, nil
}

// BloomFilter holds the revoked serial numbers in 16 KB; one in a thousand answers is a false alarm.
type BloomFilter struct {
	bits [16 * 1024]byte
}

// MayContain is false only if the serial number was certainly not revoked.
func (f *BloomFilter) MayContain(serial uint64) bool {
	hash := serial * 0x9E3779B97F4A7C15
	for i := 0; i < 10; i++ {
		bit := (hash >> (i * 5)) % (16 * 1024 * 8)
		if f.bits[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}
