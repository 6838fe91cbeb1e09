/**
 * The URL of the voice gateway. An unencrypted gateway is a local one: it serves the voice gateway on its own port, also
 * unencrypted, because clients do not trust the certificate at the advertised endpoint.
 */
export function voiceUrlOf(endpoint: string, gatewayUrl: string | null): string {
  const isClear = gatewayUrl?.startsWith('ws:') === true;
  return isClear ? new URL('/voice/', gatewayUrl).href : `wss://${endpoint}`;
}
