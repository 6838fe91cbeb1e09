import { type Config, isLoopback, isPublic, publicSettings } from '../config/config.ts';
import { mediaHost, voiceGatewayHost } from '../config/voice.ts';

/**
 * Problems that keep a server from being opened to others, each a sentence that says what to set. A public server without a
 * database would lose messages, without its own secrets its links could be forged, and without a reachable address and a
 * trusted certificate no client could join a call.
 */
export function publicProblems(config: Config): string[] {
  if (!isPublic(config)) return [];
  const problems: string[] = [];
  if (config.database_url === null && config.data_dir === null) {
    problems.push(
      'There is no database of its own: set database_url to a PostgreSQL database, or data_dir to a folder.',
    );
  }
  if (config.token_secret === null) {
    problems.push(
      'There is no secret of its own: set token_secret, for instance to what `openssl rand -hex 32` prints.',
    );
  }
  if (config.admin_token === null) {
    problems.push(
      'The admin API has no token of its own: set admin_token, for instance to what `openssl rand -hex 32` prints.',
    );
  }
  return config.voice ? [...problems, ...voiceProblems(config)] : problems;
}

function voiceProblems(config: Config): string[] {
  const problems: string[] = [];
  const lines = isReachedByClients(config) ? missingVoiceLines(config) : [];
  if (lines.length > 0) {
    problems.push(
      [
        `Calls would be announced to the public on loopback (${voiceGatewayHost(config)}, media ${mediaHost(config, config.voice_host)}).`,
        'Behind a TLS proxy that passes WebSockets on /voice to the main port, add these lines; or `voice: false` for no calls:',
        ...lines.map((line) => `  ${line}`),
      ].join('\n'),
    );
  }
  if (isLoopback(config.voice_host)) return problems;
  if (config.voice_tls === 'auto' && config.tls_cert_file === null && lines.length === 0) {
    problems.push(
      'The voice gateway has no certificate that others trust: set tls_cert_file and tls_key_file, or voice_tls to off ' +
        'when a proxy in front adds TLS.',
    );
  }
  if (config.external_address === null && /^(0\.0\.0\.0|::)$/.test(config.voice_host) && lines.length === 0) {
    problems.push(
      `Voice clients cannot send to ${config.voice_host}: set external_address to the address they reach this machine at.`,
    );
  }
  return problems;
}

/** Whether other machines reach the API, and with it the addresses it announces. */
const isReachedByClients = (config: Config): boolean =>
  publicSettings(config).some((key) => key === 'listen_host' || key === 'public_url');

/** The settings that are missing so that announced calls are reachable; empty if none is. */
function missingVoiceLines(config: Config): string[] {
  const { voice_host: host, external_address: external, public_url: url } = config;
  const isGatewayHidden = isLoopback(voiceGatewayHost(config));
  const isMediaHidden = isLoopback(mediaHost(config, host));
  if (!isGatewayHidden && !isMediaHidden) return [];
  const name =
    url === null || isLoopback(new URL(url).hostname) ? '<host name of the proxy>' : new URL(url).host;
  return [
    ...(isLoopback(host) ? ['voice_host: 0.0.0.0'] : []),
    ...(isMediaHidden || external === null
      ? ['external_address: <the IP address at which clients reach this machine>']
      : []),
    ...(isGatewayHidden ? [`voice_endpoint: ${name}/voice`] : []),
    ...(isGatewayHidden && config.voice_tls !== 'off' ? ['voice_tls: off'] : []),
  ];
}

/** Likely mistakes of a public server that are no reason to refuse it. */
export function publicWarnings(config: Config): string[] {
  if (!config.voice || !isReachedByClients(config) || !isLoopback(config.voice_host)) return [];
  return [
    `Media of calls arrive on ${config.voice_host} only, so calls of other machines stay silent: set voice_host to 0.0.0.0, ` +
      'or to an address of this machine.',
  ];
}
