# frozen_string_literal: true

require "rack"

# A web page that shows what the cache does: a Rack application for `config/routes.rb`. The page changes nothing and
# loads no value.
#
#   mount Tiercel::Insight::Web => "/tiercel"                                                # in development and test
#   mount Tiercel::Insight::Web.new(user: ENV["TIERCEL_USER"], password: ENV["TIERCEL_PASSWORD"]) => "/tiercel"
#   mount Tiercel::Insight::Web.new(authenticate: ->(request) { request.session[:admin] }) => "/tiercel"
#
# Without an option that opens it, the page is accessible only in development and test. docs/insight.md describes it.
class Tiercel::Insight::Web
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
  # @raise [Tiercel::Insight::ConfigurationError] for invalid options
  def initialize(store: nil, authenticate: nil, user: nil, password: nil, protected_by: nil, metrics_token: nil)
    @store = store
    @access = Access.new(authenticate:, user:, password:, protected_by:, metrics_token:)
    @lock = Mutex.new
  end

  # @param env [Hash{String => Object}] the Rack environment
  # @return [Array] the Rack response
  def call(env)
    request = Request.new(env)
    answer(request).to_rack(head: request.head?)
  end

  private

  # Seconds for which the doctor's report and the simulated sizes are kept.
  KEPT_SECONDS = 60

  def answer(request)
    metrics = request.path == "/metrics"
    refusal = metrics ? @access.metrics_refusal(request) : @access.refusal(request)
    return refusal if refusal
    return Response.text(405, "GET and HEAD only.\n", { "allow" => "GET, HEAD" }) unless request.get?
    text = Tiercel::Insight::Metrics.to_prometheus(store) if metrics
    return Response.text(200, text, type: "text/plain; version=0.0.4") if text
    return Response.text(404, "There is no such page.\n") unless request.path == "/"
    Response.page { |nonce| Page.new(store, request, nonce, **examined).to_s }
  end

  def store
    @store || (Rails.cache if defined?(Rails) && Rails.respond_to?(:cache)) ||
      raise(Tiercel::Insight::ConfigurationError,
            "Tiercel::Insight::Web has no store; outside Rails: Web.new(store: cache)")
  end

  # One request at a time examines; other requests show the previous result.
  def examined
    known = @examined
    return known.last if known && Process.clock_gettime(Process::CLOCK_MONOTONIC) < known.first
    return known ? known.last : { report: nil, worth: nil } unless @lock.try_lock
    begin
      result = { report: doctor.examine, worth: Tiercel::Insight.worth(store) }
      (@examined = [Process.clock_gettime(Process::CLOCK_MONOTONIC) + KEPT_SECONDS, result]).last
    ensure
      @lock.unlock
    end
  end

  def doctor = @store ? Tiercel::Insight::Doctor.new({ "cache" => @store }) : Tiercel::Insight::Doctor.of_application
end

%w[request response access chart page].each { |name| require_relative "web/#{name}" }
