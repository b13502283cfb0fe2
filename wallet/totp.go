package wallet

import (
	"crypto/subtle"
	"encoding/base32"
	"errors"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// TOTPPeriod is the length of a step in seconds (RFC 6238, X).
const TOTPPeriod = 15

// minSecret is the least length of a shared secret in bytes (RFC 4226, R6).
const minSecret = 16

// ErrTOTP means a secret that is too short or a step before 1970.
var ErrTOTP = errors.New("wallet: no one-time code for that secret and step")

// TOTPStep is the step a time falls in (RFC 6238, section 4.2, with T0 = 0);
// unix is in seconds.
func TOTPStep(unix int64) int64 {
	if unix < 0 {
		return -((-unix + TOTPPeriod - 1) / TOTPPeriod)
	}
	return unix / TOTPPeriod
}

// TOTPWindow are the steps that typed digits are tried for at a time in Unix
// seconds: two back for slow fingers, one ahead for fast clocks. The present
// one comes first.
func TOTPWindow(unix int64) []int64 {
	step := TOTPStep(unix)
	return []int64{step, step - 1, step - 2, step + 1}
}

// TOTPCode is the one-time code of a step: HMAC-SHA-1, eight digits (RFC 4226,
// section 5.3). The error is ErrTOTP.
func TOTPCode(secret []byte, step int64) (string, error) {
	if len(secret) < minSecret || step < 0 {
		return "", ErrTOTP
	}
	code, err := hotp.GenerateCodeCustom(base32.StdEncoding.EncodeToString(secret), uint64(step),
		hotp.ValidateOpts{Digits: otp.DigitsEight, Algorithm: otp.AlgorithmSHA1})
	if err != nil {
		return "", errors.Join(ErrTOTP, err)
	}
	return code, nil
}

// CheckTOTP says for which of the steps a code is right. All steps are
// computed and compared in constant time, so that the answer's delay does not
// tell which digits were near. Steps that have no code never match.
func CheckTOTP(secret []byte, steps []int64, code string) (step int64, ok bool) {
	for _, s := range steps {
		want, err := TOTPCode(secret, s)
		match := err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1
		if match && !ok {
			step, ok = s, true
		}
	}
	return step, ok
}

// TOTPPattern makes the code a wallet app shows in a QR: the one-time code of
// the step that unix (seconds, years 2001 to 2286) falls in. The error is
// ErrTOTP.
func TOTPPattern(secret []byte, id KeyID, unix int64) (Code, error) {
	if !isPatternTime(unix) {
		return Code{}, ErrTOTP
	}
	digits, err := TOTPCode(secret, TOTPStep(unix))
	if err != nil {
		return Code{}, err
	}
	return Code{Kind: KindTOTP, Form: FormPacked, KeyID: id, IssuedAt: unix, OTP: digits}, nil
}
