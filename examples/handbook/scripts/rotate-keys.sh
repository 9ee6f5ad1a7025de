#!/usr/bin/env bash
# Rotate the ticket signing key, or the certificate of the kiosk printers.
#   rotate-keys.sh signer     new Ed25519 key; gates accept the last two
#   rotate-keys.sh printers   new certificate for print.tidewater.internal
set -euo pipefail

rotate_signer() {
    local year
    year=$(date -u +%Y)
    vault write -f "transit/keys/ticket-${year}" type=ed25519
    vault read -field=public_key "transit/keys/ticket-${year}" > "keys/ticket-${year}.pub"
    # Gates fetch the public key with the next revocation list. Sign with the new key only when all have it.
    until [ "$(gatectl count --missing-key "ticket-${year}")" -eq 0 ]; do
        echo "waiting for gates: $(gatectl count --missing-key "ticket-${year}") to go"
        sleep 300
    done
    flags set signer.key="ticket-${year}"
}

rotate_printers() {
    certtool request --name print.tidewater.internal --days 395 > printers.csr
    certtool sign --ca tw-internal-ca < printers.csr > printers.pem
    for kiosk in $(kioskctl list --quiet); do
        kioskctl push "$kiosk" printers.pem && kioskctl restart "$kiosk" --service cups
    done
}

case "${1:-}" in
    signer) rotate_signer ;;
    printers) rotate_printers ;;
    *) sed -n '2,4p' "$0" >&2; exit 2 ;;
esac
