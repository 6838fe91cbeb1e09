/** Voice for clients in any environment: the gateway's part, the voice gateway's, DAVE's order of things, and SDP. */
export * from './daveflow.ts';
export * from './gatewaylink.ts';
export * from './sdp.ts';
export * from './voicelink.ts';
export { isJson, type Json, type OpenSocket, type SocketEvents, type WireSocket } from './wire.ts';
