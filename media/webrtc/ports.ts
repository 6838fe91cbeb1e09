/**
 * Browsers in calls, as the media plane sees them. Every packet is plain RTP or RTCP: DTLS-SRTP ends here, end-to-end
 * encrypted payloads pass unchanged. Runs on the main thread; members are identified by the audio SSRC the plane allocated.
 *
 * On the plane's side of this interface a member's packets look like those of a UDP client: its SSRCs are the allocated
 * ones, Opus is payload type 120 and video has the payload types of `VIDEO_CODECS`. The mapping to the browser's own SSRCs
 * and payload types is learned from the payload types of the packets it sends.
 */
export interface PeerPort {
  /**
   * Creates a peer for a member, or replaces the one it has.
   *
   * @param fragment The client's SDP (`data` of op 1), untrusted.
   * @param streams  The video SSRCs that were allocated to the member, in the order of its layers.
   * @returns the SDP for op 4, or null when the fragment cannot be used.
   */
  open(ssrc: number, fragment: string, streams?: readonly PeerStream[]): Promise<string | null>;
  /**
   * Sends one RTP or RTCP packet to the member; dropped while it is not connected. The bytes are copied before it returns.
   *
   * @returns whether the packet was accepted.
   */
  send(ssrc: number, packet: Uint8Array): boolean;
  /** Closes the member's peer; no further event is reported for it. Unknown members are ignored. */
  close(ssrc: number): void;
  /** Closes all peers. */
  closeAll(): void;
}

export interface PeerStream {
  readonly ssrc: number;
  readonly rtxSsrc: number;
}

export interface PeerEvents {
  /** Passes one RTP or RTCP packet of a member. The callee may keep the bytes; `ssrc` is the member's audio SSRC. */
  packet(ssrc: number, packet: Uint8Array): void;
  /** `failed`: not connected in time, or lost. The peer is then closed, and the member may open another. */
  state(ssrc: number, state: 'connected' | 'failed'): void;
}

/** Reserves a UDP port by listening on it, so that no other process takes it. */
export interface PortReservation {
  readonly port: number;
  /** Binds the port again, if it is free. */
  hold(): void;
  /** Frees the port at once. */
  release(): void;
}

export interface PeerOptions {
  /** Address of this machine to listen on. */
  readonly bindAddress: string;
  /** One UDP port for all peers; not 0. */
  readonly port: number;
  /** Holds the port while there are no peers; `closeAll` releases it. */
  readonly reservation?: PortReservation;
  /** The address in the ICE candidate. */
  readonly externalAddress: string;
  /** How long a peer may take to connect. Default 15 seconds. */
  readonly connectMs?: number;
  /** Most peers at one time; beyond it `open` returns null. Default 1000. */
  readonly peersMax?: number;
}
