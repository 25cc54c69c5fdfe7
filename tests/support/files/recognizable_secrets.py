"""Secrets of every kind, made up for the tests: keys of secrets, and values with forms of their own.

A secret is put together from parts, so that no scanner of repositories takes it for a real one.
"""

from __future__ import annotations

from base64 import b64encode

A, N, H = "aB3dE6gH9kL2nP5rS8uV1xY4zC7fJ0mQ", "0123456789", "0123456789abcdef0123456789abcdef"
"""Characters of which tokens consist: letters and digits, digits, hexadecimal digits."""
WORD = "Tr0ub4dor-and-3"
"""A password without a form of its own."""
DER = "MII" + "Ev" + "QIBADANBgkqhkiG9w0BAQEFAASC" + A * 20
JWT = f"eyJ{A}.eyJ{A}{A}.{A}"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BASIC = b64encode(f"user:{WORD}".encode()).decode()

_KEYS = """
    database.password db_password connection.password dbPassword PASSWORD aws.secret.access.key
    ssl.keystore.password ssl.key.password ssl.keystore.key sasl.jaas.config producer.override.sasl.jaas.config
    snowflake.private.key snowflake.private.key.passphrase splunk.hec.token influxdb.token elastic.api.key api_key
    apikey apiKey datadog.api-key db.pass userpass pass ftp.pwd DB_PWD ldap.bind.pw client.secret oauth.clientSecret
    oauth2.refresh.token accessToken bearer.auth.token basic.auth.user.info value.converter.basic.auth.user.info
    azure.storage.account.key azblob.account.key azure.sas.token connect.cosmos.master.key
    http.headers.authorization proxy.authorization http.header.cookie slack.webhook slack.webhook.url
    teams.webhookUrl database.sslpassword mongodb.passwd s3.sse.customer.key transforms.encrypt.encryption.key
    cipher.data.keys vault.token github.token kerberos.ticket gcp.credentials gcs.credentials.json signing.key
    hmac.key shared.access.key twitter.oauth.consumerKey transforms.x.secret transforms.x.headers.password
    key.converter.schema.registry.ssl.key.password confluent.license access.key.id private_key jdbc.passcode
    couchbase.password1 azure.function.key salesforce.password.token neo4j.authentication.custom.credentials
    schema.registry.auth.user.info schema.history.internal.producer.sasl.jaas.config
"""
BY_KEY = dict.fromkeys(_KEYS.split(), WORD)
"""Keys whose names say that the value is a secret."""

BY_FORM = [
    ("github", f"ghp_{A}abcd"),
    ("github", f"gho_{A}abcd"),
    ("github", f"ghs_{A}abcd"),
    ("github", f"ghr_{A}abcd{A}"),
    ("github", f"github_pat_{A[:22]}_{A}{A[:27]}"),
    ("gitlab", f"glpat-{A[:20]}"),
    ("gitlab", f"glpat-{A[:27]}.01.0a1b2c3d4"),
    ("gitlab", f"gldt-{A[:20]}"),
    ("gitlab", f"glrt-{A[:20]}"),
    ("gitlab", f"glcbt-64_{A[:20]}"),
    ("slack", f"xoxb-{N}01-{N}01-{A[:24]}"),
    ("slack", f"xoxp-{N}01-{N}01-{N}01-{H}"),
    ("slack", f"xapp-1-A0{N}-{N}0-{H}{H}"),
    ("aws", "AKIA" + "QYLPMN5HFIQR7XYA"),
    ("aws", "ASIA" + "QYLPMN5HFIQR7XYA"),
    ("aws", "AKIA" + "QYLPMN5HFIQR7XYA" + f":{A}abcd/+90"),
    ("google", f"AIza{A}abc"),
    ("google", f"GOCSPX-{A[:28]}"),
    ("google", f"ya29.{A}{A}"),
    ("stripe", f"sk_live_{A[:24]}"),
    ("stripe", f"rk_test_{A[:24]}"),
    ("stripe", f"whsec_{A}"),
    ("openai", f"sk-proj-{A}-{A}"),
    ("openai", f"sk-{A}abcdefgh01234567"),
    ("anthropic", f"sk-ant-api03-{A}{A}AA"),
    ("npm", f"npm_{A}abcd"),
    ("pypi", f"pypi-AgEIcHlwaS5vcmc{A}{A}"),
    ("docker", f"dckr_pat_{A[:27]}"),
    ("sendgrid", f"SG.{A[:22]}.{A}{A[:11]}"),
    ("digitalocean", f"dop_v1_{H}{H}"),
    ("huggingface", f"hf_{A}ab"),
    ("databricks", f"dapi{H}"),
    ("vault", f"hvs.{A}{A}{A}"),
    ("vault", f"hvb.{A * 5}"),
    ("terraform", f"{A[:14]}.atlasv1.{A}{A}"),
    ("grafana", f"glsa_{A}_0a1b2c3d"),
    ("grafana", f"glc_{A}{A}="),
    ("newrelic", "NRAK-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0"),
    ("shopify", f"shpat_{H}"),
    ("atlassian", f"ATATT3{A}{A}=0A1B2C3D"),
    ("aiven", f"AVNS_{A[:19]}"),
    ("planetscale", f"pscale_pw_{A}{A[:11]}"),
    ("azure", f"{A[:3]}8Q~{A}ab"),
    ("telegram", f"{N[:9]}:AA{A}a"),
    ("twilio", f"SK{H}"),
    ("jwt", JWT),
    ("jwt", f"token {JWT} refused"),
    ("pem", f"-----BEGIN PRIVATE KEY-----\n{DER}\n-----END PRIVATE KEY-----"),
    ("pem", f"-----BEGIN RSA PRIVATE KEY-----\n{DER}\n-----END RSA PRIVATE KEY-----"),
    ("pem", f"-----BEGIN OPENSSH PRIVATE KEY----- {A * 9} -----END OPENSSH PRIVATE KEY-----"),
    ("pem", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{A * 9}\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("pem", f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{A * 9}"),
    ("der", DER),
    ("der", f"MIIEpAIBAAKCAQEA{A * 20}"),
    ("age", f"AGE-SECRET-KEY-1{'Q' * 58}"),
    ("webhook", f"https://hooks.slack.com/services/T{N}/B{N}/{A[:24]}"),
    ("webhook", f"https://hooks.slack.com/workflows/T{N}/A{N}/{N}/{A[:24]}"),
    ("webhook", f"https://corp.webhook.office.com/webhookb2/{H}@{H}/IncomingWebhook/{H}/{H}"),
    ("webhook", f"https://outlook.office.com/webhook/{H}@{H}/IncomingWebhook/{H}/{H}"),
    ("webhook", f"https://discord.com/api/webhooks/{N}{N}/{A}{A}{A[:4]}".replace(N + N, (N + N)[:18])),
    ("webhook", f"https://hooks.zapier.com/hooks/catch/123456/{A[:7]}/"),
    ("webhook", f"https://mattermost.corp.example/hooks/{'abcdefghijklmnopqrstuvwxyz'}"),
    ("webhook", f"https://maker.ifttt.com/trigger/x/with/key/{A[:22]}"),
    ("webhook", f"https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza{A}abc&token={A}"),
    (
        "webhook",
        f"https://prod-00.westus.logic.azure.com:443/workflows/{H}/triggers/manual/paths/invoke?sv=1.0&sig={A}",
    ),
    ("webhook", f"https://api.telegram.org/bot{N[:9]}:AA{A}a/sendMessage"),
    ("url", f"jdbc:postgresql://db/shop?user=app&password={WORD}"),
    ("url", f"jdbc:mysql://app:{WORD}@db/shop"),
    ("url", f"jdbc:sqlserver://db:1433;user=app;password={WORD};database=shop"),
    ("url", f"jdbc:oracle:thin:scott/{WORD}@//db:1521/x"),
    ("url", f"mongodb+srv://app:{WORD}@cluster0.example.net/?retryWrites=true"),
    ("url", f"redis://:{WORD}@cache:6379/0"),
    ("url", f"amqp://guest:{WORD}@rabbit:5672/vhost"),
    ("url", f"https://{WORD}@sentry.example/12"),
    ("url", f"http://app:{WORD}@proxy:3128"),
    ("url", f"https://functions.example/api/in?code={A}=="),
    ("url", f"https://acc.blob.core.windows.net/c?sv=2024&sr=c&sig={A}%3D"),
    ("url", f"https://bucket.s3.amazonaws.com/k?X-Amz-Credential=x&X-Amz-Signature={H}{H}"),
    ("url", f"https://api.example/v1?access_token={WORD}"),
    ("url", f"https://api.example/v1?api_key={WORD}"),
    ("connection", f"Endpoint=sb://h.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey={A}="),
    ("connection", f"DefaultEndpointsProtocol=https;AccountName=n;AccountKey={A}{A}==;EndpointSuffix=core"),
    ("connection", f"host=db user=app password={WORD} dbname=shop"),
    ("jaas", f'{JAAS} username="app" password="{WORD}";'),
    ("jaas", f"{JAAS} username='app' password='{WORD}';"),
    ("jaas", f'{JAAS} clientId="a" clientSecret="{WORD}" scope="b";'),
    ("jaas", f'{JAAS} oauth.client.secret="{WORD}" ;'),
    ("jaas", f'{JAAS} serviceName="${{env:A}}" password="{WORD}";'),
    ("header", f"Authorization: Bearer {A}"),
    ("header", f"Authorization:Basic {BASIC}"),
    ("header", f"Authorization: Bearer {WORD}|Accept: text/plain"),
    ("header", f"Content-Type:application/json|X-API-Key:{WORD}"),
    ("header", f"X-Vault-Token: {WORD}"),
    ("header", f"PRIVATE-TOKEN: {WORD}"),
    ("header", f"Authorization: GenieKey {A}"),
    ("header", f"Cookie: JSESSIONID={A}; theme=dark"),
    ("header", f"Set-Cookie: session={A}; Path=/"),
    ("header", f"Bearer {A}"),
    ("header", f"Basic {BASIC}"),
    ("json", f'{{"user": "app", "password": "{WORD}"}}'),
    ("json", f'{{"Authorization": "Bearer {A}"}}'),
    ("json", f'{{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\\\n{A}"}}'),
    ("json", f'{{"client_secret":"{WORD}"}}'),
    ("default", f"jdbc:postgresql://db/shop?password=${{DB_PASSWORD:-{WORD}}}"),
]
"""Values whose form says that they are or contain a secret, under any key, each with its kind."""
