// Everything exported here is public API. Named exports only.
export { Bytes, CONNECTOR_KINDS } from "./contract/connector.ts";
export type {
  BackendOutput,
  BackendPrompt,
  BackendRequest,
  BackendResource,
  BackendResourceTemplate,
  BackendTool,
  Card,
  ChangedList,
  Completed,
  Completion,
  Connector,
  ConnectorKind,
  Context,
  Facts,
  Readiness,
  ToolRequest,
} from "./contract/connector.ts";
export { CONNECTOR_ERROR_CODES, ConnectorError } from "./contract/connector-error.ts";
export type { ConnectorErrorCode, ConnectorErrorOptions } from "./contract/connector-error.ts";
export { cli } from "./cli/cli.ts";
export type { CliArgument, CliFlag, CliValue } from "./cli/arguments.ts";
export type { CliCommand, CliDefaults, CliOptions, CliOutput } from "./cli/options.ts";
export { Artifacts } from "./artifacts/artifacts.ts";
export type { Artifact, ArtifactsOptions } from "./artifacts/artifacts.ts";
export { connectTools } from "./tools/connect-tools.ts";
export type { ConnectedTools } from "./tools/connect-tools.ts";
export { toToolSource } from "./tools/tool-source.ts";
export type { ToolSourceOptions } from "./tools/tool-source.ts";
export { createHandles } from "./handles/create-handles.ts";
export type { Handles, HandlesOptions } from "./handles/create-handles.ts";
export { mcp } from "./mcp/mcp.ts";
export type { McpOptions, McpProcessOptions, McpUrlOptions } from "./mcp/options.ts";
export type { AuthorizeRequest, McpOAuthOptions, OnAuthorize } from "./mcp/oauth/options.ts";
export type {
  ElicitAnswer,
  ElicitQuestion,
  ElicitUrlQuestion,
  FormContent,
  LogLevel,
  QuestionOptions,
  Root,
  SampleAnswer,
  SampleContent,
  SampleQuestion,
  ServerLog,
} from "./mcp/questions/options.ts";
export { vaultTokens } from "./mcp/oauth/token-store.ts";
export type { TokenKey, TokenStore } from "./mcp/oauth/token-store.ts";
export { http } from "./http/http.ts";
export type { HttpAction, HttpOptions } from "./http/http.ts";
export { discovery } from "./discovery/discovery.ts";
export type { DiscoveryOptions } from "./discovery/discovery.ts";
export { graphql } from "./graphql/graphql.ts";
export type { GraphqlOptions } from "./graphql/graphql.ts";
export { openapi } from "./openapi/openapi.ts";
export type { OpenApiOptions } from "./openapi/openapi.ts";
export type { SchemeCredential, SchemeCredentials } from "./openapi/credentials.ts";
export { openDescriptionCache } from "./description/cache/folder-cache.ts";
export type { DescriptionCacheOptions } from "./description/cache/folder-cache.ts";
export type { DescriptionCache } from "./description/cache/description-cache.ts";
export type { DescriptionOptions } from "./description/kept-description.ts";
export { set } from "./set/set.ts";
export type { OpenedSet, SetOfConnectors, SetOptions } from "./set/set.ts";
export type { OpenMembers } from "./set/members.ts";
export type { Credential } from "./web/credentials.ts";
export type { WebOptions } from "./web/web-options.ts";
export { openVault } from "./secrets/vault/vault.ts";
export type { Vault, VaultEntry, VaultOptions } from "./secrets/vault/vault.ts";
export { VaultError } from "./secrets/vault/vault-error.ts";
export type { VaultErrorCode } from "./secrets/vault/vault-error.ts";
export type { SecretOptions } from "./secrets/door.ts";
export type { SecretSources, SecretVault } from "./secrets/sources.ts";
