/** Puts fresh signatures on the attachment URLs of a dispatch. */
export interface Signing {
  /** Absent: URLs are not signed. A dispatch without attachments is returned unchanged. */
  readonly sign?: (t: string, d: object) => object;
}

/** The dispatch as clients receive it, with signed attachment URLs. */
export function signed<D extends { readonly t: string; readonly d: object }>(
  { sign }: Signing,
  dispatch: D,
): D {
  const d = sign?.(dispatch.t, dispatch.d) ?? dispatch.d;
  return d === dispatch.d ? dispatch : { ...dispatch, d };
}
