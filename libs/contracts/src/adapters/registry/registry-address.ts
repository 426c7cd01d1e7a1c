/** Where a registry is, and as whom it is asked. */
import { contractsError } from '../../errors.ts';

export interface RegistryAddress {
  /** Without user and password, so that it may be shown. */
  readonly address: string;
  readonly auth: { readonly username: string; readonly password: string } | undefined;
}

export function parseRegistryAddress(registryUrl: string): RegistryAddress {
  if (!URL.canParse(registryUrl))
    throw contractsError('REGISTRY_REFUSED', `the address of the schema registry is no URL`);
  const url = new URL(registryUrl);
  const auth =
    url.username === ''
      ? undefined
      : { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  url.username = '';
  url.password = '';
  return { address: url.toString().replace(/\/$/, ''), auth };
}
