# frozen_string_literal: true

require "tiercel"

module Tiercel
  # A web page that shows what the cache does: a Rack application for `config/routes.rb`.
  #
  #   mount Tiercel::Web => "/cache"                                                    # in development and test
  #   mount Tiercel::Web.new(user: ENV["CACHE_USER"], password: ENV["CACHE_PASSWORD"]) => "/cache"
  #   mount Tiercel::Web.new(authenticate: ->(request) { request.session[:admin] }, actions: true) => "/cache"
  #
  # Without an option that opens it, the page is accessible only in development and test. It never loads a value.
  # docs/observability.md describes it.
  class Web
    # Responds like an instance without options.
    #
    # @param env [Hash{String => Object}] the Rack environment
    # @return [Array] the Rack response
    def self.call(env) = (@default ||= new).call(env)

    # @param store [ActiveSupport::Cache::Store, nil] Rails.cache by default
    # @param authenticate [#call, nil] receives an ActionDispatch::Request (outside Rails a Rack::Request) and returns
    #   whether this client may see the page
    # @param user [String, nil] for HTTP Basic authentication, with `password`; if it is nil, the page stays closed
    # @param password [String, nil]
    # @param protected_by [Symbol, nil] :routes, if the application's routes already restrict access
    # @param metrics_token [String, nil] gives access to `/metrics` only, with `Authorization: Bearer TOKEN`
    # @param actions [Boolean] whether the page may delete, invalidate and clear
    # @raise [ConfigurationError] for invalid options
    def initialize(store: nil, authenticate: nil, user: nil, password: nil, protected_by: nil, metrics_token: nil,
                   actions: false)
      @store = store
      @access = Access.new(authenticate:, user:, password:, protected_by:, metrics_token:)
      unless [true, false].include?(actions)
        raise ConfigurationError, "actions: expected true or false, got #{Redacted.text(actions)}"
      end
      @actions = actions
      @examination = Examination.new
    end

    # @param env [Hash{String => Object}] the Rack environment
    # @return [Array] the Rack response
    def call(env)
      request = Request.new(env)
      answer(request).to_rack(head: request.head?)
    end

    # @private
    # @return [ActiveSupport::Cache::Store]
    def store
      @store || (Rails.cache if defined?(Rails) && Rails.respond_to?(:cache)) ||
        raise(ConfigurationError, "Tiercel::Web has no store; outside Rails: Tiercel::Web.new(store: cache)")
    end

    # @private
    # @return [Hash{String => ActiveSupport::Cache::Store}, nil] stores for the doctor; nil for the application's
    #   stores
    def given_stores = @store && { "cache" => @store }

    # @private
    # @param key [String] the key in a request
    # @return [String] the same key
    # @raise [Request::BadRequest] for a key outside the store's namespace, because it belongs to another program
    def own(key)
      return key if !store.respond_to?(:stored_prefix) || key.b.start_with?(store.stored_prefix.b)
      raise Request::BadRequest, "the key is outside the namespace of this store"
    end

    # @private
    # @return [Boolean]
    def actions? = @actions

    # @private
    # @return [Examination]
    attr_reader :examination

    private

    def answer(request)
      refusal = request.path == "/metrics" ? @access.metrics_refusal(request) : @access.refusal(request)
      return refusal if refusal
      return Response.text(413, "The request is too large.\n") if request.too_large?
      return Actions.new(self, request).answer if request.post?
      return Response.text(405, "GET, HEAD and POST only.\n", { "allow" => "GET, HEAD, POST" }) unless request.get?
      Pages.answer(self, request)
    rescue Request::BadRequest => error
      Response.text(400, "Bad request: #{error.message}\n")
    end
  end
end

# Required here because the autoload expects the class to be defined.
require_relative "web/access"
require_relative "web/actions"
require_relative "web/examination"
require_relative "web/request"
require_relative "web/response"
require_relative "web/same_origin"
require_relative "web/pages"
