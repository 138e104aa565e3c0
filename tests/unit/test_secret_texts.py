"""Secrets are taken out of texts, and nothing that only looks like one."""

from __future__ import annotations

import re

from graphmem.text.secret_texts import without_secrets
from tests.support.walks import walk_over

HEX = "0123456789abcdef" * 4
MIXED = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3
KEYS = {
    "OpenAI": f"sk-proj-{MIXED[:40]}",
    "Anthropic": f"sk-ant-api03-{MIXED[:93]}AA",
    "graphmem": "gm_sk_abcdefghijklmnopqrstuv",
    "GitHub, own": f"ghp_{MIXED[:36]}",
    "GitHub, fine": f"github_pat_{MIXED[:22]}_{MIXED[:59]}",
    "GitHub, app": f"ghs_{MIXED[:36]}",
    "GitLab": f"glpat-{MIXED[:20]}",
    "GitLab, runner": f"glrt-{MIXED[:20]}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "AWS, for a time": "ASIAIOSFODNN7EXAMPLE",
    "Google, key": f"AIza{MIXED[:35]}",
    "Google, client": f"GOCSPX-{MIXED[:28]}",
    "Google, access": f"ya29.{MIXED[:60]}",
    "Slack, bot": "xoxb-123456789012-1234567890123-aB3dE5gH7jK9mN1pQ2rS4tU6",
    "Slack, app": f"xapp-1-A0123456789-1234567890123-{HEX}",
    "SendGrid": f"SG.{MIXED[:22]}.{MIXED[:43]}",
    "Stripe": f"sk_live_{MIXED[:24]}",
    "Stripe, webhook": f"whsec_{MIXED[:32]}",
    "Telegram": f"1102015430:AA{MIXED[:33]}",
    "Docker": f"dckr_pat_{MIXED[:27]}",
    "DigitalOcean": f"dop_v1_{HEX}",
    "DigitalOcean, OAuth": f"doo_v1_{HEX}",
    "Linear": f"lin_api_{MIXED[:40]}",
    "npm": f"npm_{MIXED[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{MIXED[:70]}",
    "Hugging Face": f"hf_{'abcdefghijklmnopqrstuvwxyzabcdefgh'}",
    "Tailscale": f"tskey-auth-{MIXED[:30]}",
    "Twilio": f"SK{HEX[:32]}",
    "Shopify": f"shpat_{HEX[:32]}",
    "Square": f"EAAA{MIXED[:60]}",
    "Databricks": f"dapi{HEX[:32]}",
    "Doppler": f"dp.pt.{'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq'}",
    "Dynatrace": f"dt0c01.{'ABCDEFGHIJKLMNOPQRSTUVWX'}.{'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567' * 2}",
    "EasyPost": f"EZAK{'abcdefghijklmnopqrstuvwxyz' * 2}ab",
    "Grafana": f"glsa_{MIXED[:32]}_{HEX[:8]}",
    "HashiCorp Vault": f"hvs.{MIXED[:95]}",
    "Notion": f"ntn_{'12345678901'}{MIXED[:35]}",
    "PlanetScale": f"pscale_tkn_{MIXED[:43]}",
    "Postman": f"PMAK-{HEX[:24]}-{HEX[:34]}",
    "Prefect": f"pnu_{'abcdefghijklmnopqrstuvwxyz0123456789'}",
    "Pulumi": f"pul-{HEX[:40]}",
    "RubyGems": f"rubygems_{HEX[:48]}",
    "Brevo": f"xkeysib-{HEX}-{'abcdefghijklmnop'}",
    "Age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----",
    "OpenSSH": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
    "card": "4111 1111 1111 1111",
    "card, American Express": "378282246310005",
    "card, Mastercard": "5555-5555-5555-4444",
}
WITHIN = {
    "password: hunter22": "hunter22",
    "API_KEY=abcd1234": "abcd1234",
    "DB_PASS=s3cr3t-db": "s3cr3t-db",
    "pwd: Sommer2026": "Sommer2026",
    "pw: letmein1": "letmein1",
    "curl -u admin:hunter22 https://example.org": "admin:hunter22",
    "The PIN is 4821.": "4821",
    "recovery codes: abcd-efg1-2345, 9bcd-efg1-2345": "abcd-efg1-2345, 9bcd-efg1-2345",
    'the "secret": "a b c d"': '"a b c d"',
    "Passwort ist Geheim1": "Geheim1",
    "Kennwort: Maulwurf": "Maulwurf",
    "my password is hunter22.": "hunter22",
    "Mein Passwort ist Maulwurf.": "Maulwurf",
    "token = 12345678": "12345678",
    "AccountName=a;AccountKey=ab12cd34ef56ab12cd34ef56ab12cd34==;": "ab12cd34ef56ab12cd34ef56ab12cd34==",
    "passphrase: correct horse battery staple": "correct horse battery staple",
    "The seed phrase is apple banana cherry dog elephant fox": "apple banana cherry dog elephant fox",
    "postgres://ada:pw99@db/x": "ada:pw99",
    "https://hooks.slack.com/services/T00000000/B00000000/aB3dE5gH7jK9mN1pQ2rS4tU6": (
        "services/T00000000/B00000000/aB3dE5gH7jK9mN1pQ2rS4tU6"
    ),
    "https://discord.com/api/webhooks/123456789012345678/aB3dE5gH7jK9mN1pQ2rS4tU6vW8x": (
        "123456789012345678/aB3dE5gH7jK9mN1pQ2rS4tU6vW8x"
    ),
    "Authorization: Basic YWRhOmh1bnRlcjIyMjI=": "Basic YWRhOmh1bnRlcjIyMjI=",
    f"mailgun_key = key-{HEX[:32]}": f"key-{HEX[:32]}",
}
HARMLESS = [
    "The token is expired.", "The token is expired", "My password is expired", "A token of thanks",
    "The password field is empty.",
    "Send the keys to Ada.", "https://example.org/a:b", "sk-learn and risk-averse people",
    "Der Ausweis ist da.",
    "The secret of success is work.", "Secret Santa is Bob.", "Passport: C01X00T47", "Compass: north",
    "bypass: allowed", "The pass is closed.", "Boarding pass of Ada", "The mountain pass is at 2,000 m",
    "Tokens are words.", "The password is required.", "Das Passwort ist vergessen.", "She is the key to it.",
    "Order 1234567890123456", "ISBN 978-3-16-148410-0", "IBAN DE02 1203 0000 0000 2020 51",
    "Call +49 30 1234567 today", "Commit 36235d72", "ent_0123456789abcdef01234567",
    "src_0123456789abcdef01234567", "550e8400-e29b-41d4-a716-446655440000", "https://graphmem.example/app/v1",
    "The basic plan is enough.", "A bearer of news", "git@github.com:ada/engine.git", "ada@example.org",
    "Invoice 2026-0042 of 1.284,50 EUR", "2026-11-30T15:52:14Z", "Room 3.14, floor 2", "v1.2.3-rc.4+build.5",
    "sha256 of the file", "The API key is in the vault.", "Ask Bob for the access token.", "Key ring, 5 keys",
    "The phrase is famous.", "A recovery of the patient", "https://hooks.example.org/graphmem",
    "https://discord.com/channels/1/2", "The author is Ada.", "Tom's authority: none", "hf is high frequency",
    "npm install express", "pypi has it", "The rate is 12:30", "AKIA is a prefix.", "AIza is one as well.",
    "SG. is short.", "BEGIN and END", "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
    "glad to help", "dapi is a Danish agency", "1 2 3 4 5 6 7", "The passenger is late.",
    "The PIN is on page 12", "Backup codes are in the safe",
    "sort -u a:b", "Push the pin: red",
]  # fmt: skip


@walk_over("key", KEYS.values())
def test_a_key_is_taken_out_alone(key: str) -> None:
    assert without_secrets(f"It is {key} now.", "[x]") == ("It is [x] now.", 1)


@walk_over("text", WITHIN)
def test_a_secret_that_is_named_is_taken_out(text: str) -> None:
    shown, count = without_secrets(text, "[x]")
    assert (shown, count >= 1) == (text.replace(WITHIN[text], "[x]"), True)


def test_what_only_looks_like_a_secret_stays() -> None:
    assert len(KEYS) + len(WITHIN) >= 60
    assert len(HARMLESS) >= 60
    assert [without_secrets(text, "[x]") for text in HARMLESS] == [(text, 0) for text in HARMLESS]


def test_all_of_several_are_taken_out_and_counted() -> None:
    text = f"First {KEYS['Docker']}, then {KEYS['Linear']}; DB_PASS=abc123 and again {KEYS['Docker']}"
    shown, count = without_secrets(text, "[x]")
    assert (shown, count) == ("First [x], then [x]; DB_PASS=[x] and again [x]", 4)
    assert not re.search("dckr|lin_api", shown)


def test_a_secret_that_holds_another_is_taken_out_whole() -> None:
    key = "SKabcdefabc378282246310005cdefabcd"
    assert without_secrets(f"It is {key} now, and 378282246310005.", "[x]") == ("It is [x] now, and [x].", 2)
