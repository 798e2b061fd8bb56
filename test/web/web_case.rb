# frozen_string_literal: true

require "test_helper"
require "logger"
require "active_support/environment_inquirer"
require "rack/mock"
require "active_support/cache/tiercel_store"
require "tiercel/web"

# The base class of the page's tests: a store, its page, and requests.
class WebCase < Tiercel::TestCase
  # An account with large numbers in every minute, and classes with hostile names.
  class FullAccount
    NAMES = ["views/products/show:*/products/*", "a" * 150, "<script>alert(1)</script>", "\u202Ecod.exe"].freeze

    def scope = :machine
    def hits(*) = nil
    def timed(_key) = yield

    def minutes(count)
      now = Time.now.to_i / 60 * 60
      Array.new(count) do |index|
        figures = { hits: 98_765 + (index * 7), misses: 4_321, writes: 5_432, evictions: 1_234, blocks: 4_321,
                    block_seconds: 123.456, lease_waits: 77, lease_wait_seconds: 3.21, stale_hits: 12, deletes: 3 }
        { at: now - ((count - 1 - index) * 60), **(index == 3 ? figures.transform_values { 0 } : figures) }
      end
    end

    def classes(_period, limit: 1_000)
      Array.new([limit, 40].min) do |index|
        figures = index == 5 ? { misses: 0, hits: 0 } : { misses: 123_456, hits: 7_654_321 }
        { name: NAMES[index] || "class#{index}:*", seconds: 12_345.6 / (index + 1), **figures }
      end
    end
  end

  SECRET = "s3cret-#{Process.pid}"

  def setup
    @log = StringIO.new
    @store = Tiercel.new("memory:", size: "4MB")
    @logger = ActiveSupport::Cache::Store.logger # the logger of all stores
    @store.logger = Logger.new(@log)
  end

  def teardown
    ActiveSupport::Cache::Store.logger = @logger
    @store.close
  end

  private

  def web(**options) = Tiercel::Web.new(store: @store, **options)
  def open_web(**) = web(protected_by: :routes, **)

  def get(app, path, headers = {}) = Rack::MockRequest.new(app).get(path, headers)

  # Like a modern browser that submits a form of the page itself.
  def post(app, path, form = {}, headers = { "HTTP_SEC_FETCH_SITE" => "same-origin" })
    Rack::MockRequest.new(app).post(path, params: form, **headers)
  end

  def basic(user, password) = { "HTTP_AUTHORIZATION" => "Basic #{["#{user}:#{password}"].pack("m0")}" }

  def id(key) = Tiercel::Web::Request.encode_key(key)
end
