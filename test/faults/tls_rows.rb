# frozen_string_literal: true

require_relative "../support/tls_front"
require_relative "remote_failures"

# The rows that TLS adds to the table. The including class defines `server` (the server behind TLS), `place(port,
# host)` (returns a URL) and `trusting(path)` (returns options).
module TLSRows
  include RemoteFailures

  Front = Tiercel::TLSFront

  def teardown = @server&.stop

  def with_front(behind = nil, **options)
    with_tmpdir { |dir| Front.run(behind, **options) { |front| yield front, front.authority(dir) } }
  end

  # Only tests of timeouts use a short timeout; elsewhere the certificate error must arrive first.
  def tls_store(front, authority, host: "localhost", timeout: PATIENCE_SECONDS, **options)
    build(place(front.port, host), **trusting(authority), timeout: timeout, **options)
  end

  # @return [Array] results of concurrent threads, within the time budget; no thread hangs
  def in_threads(count, &call)
    threads = Array.new(count) { Thread.new { within_budget(&call) } }
    assert(threads.all? { |thread| thread.join(60) }, "a thread hangs")
    threads.map(&:value)
  ensure
    threads.each(&:kill)
  end

  def assert_refused(store, message = /certificate verify failed/)
    reports = capture_reports { assert_nil store.read("key") }
    assert_reported(reports, "key")
    refute_kind_of Tiercel::TimedOut, reports.first.error
    assert_match message, reports.first.error.message
    capture_reports { assert_nil store.write("key", "secret") }
  end

  %i[silent half trickle].each do |manner|
    define_method(:"test_a_handshake_that_does_not_end_#{manner}") do
      with_front(server, manner: manner) do |front, authority|
        store = tls_store(front, authority, timeout: BUDGET_SECONDS)
        reports = capture_reports { assert_equal [nil] * 5, in_threads(5) { store.read("key") } }
        assert_equal 5, reports.size
        reports.each { |report| assert_instance_of Tiercel::TimedOut, report.error }
        [-> { store.write("key", 1) }, -> { store.read_multi("a", "b").first }].each do |call|
          reports = capture_reports { assert_equal [nil], in_threads(1, &call) }
          assert_reported(reports, nil, Tiercel::TimedOut)
        end
      end
    end
  end

  def test_an_expired_certificate
    with_front(server, ends_in: -60) { |front, authority| assert_refused(tls_store(front, authority), /expired/) }
  end

  def test_an_unknown_authority
    with_front(server) do |front, _|
      with_front(server) { |_, another| assert_refused(tls_store(front, another)) }
      assert_refused(tls_store(front, nil))
    end
  end

  def test_a_server_without_tls
    place = place(server.port)
    with_front do |_, authority|
      reports = capture_reports { assert_nil within_budget { build(place, **trusting(authority)).read("key") } }
      assert_reported(reports, "key")
    end
  end

  def test_checks_that_were_given_up
    with_front(server, names: "DNS:elsewhere.example") do |front, authority|
      patience = { timeout: PATIENCE_SECONDS }
      store = build(place(front.port), ssl_params: { ca_file: authority, verify_hostname: false }, **patience)
      assert_equal true, store.write("key", "value")
      nothing = { "verify_mode" => OpenSSL::SSL::VERIFY_NONE }
      assert_equal "value", build(place(front.port), ssl_params: nothing, **patience).read("key")
    end
  end

  # The requested address must be in the certificate as well.
  def test_an_address_that_is_not_in_the_certificate
    with_front(server, names: "DNS:localhost") do |front, authority|
      assert_refused(tls_store(front, authority, host: "127.0.0.1"), /(IP address|hostname) mismatch/)
      assert_equal true, tls_store(front, authority).write("key", "value")
    end
  end

  def test_files_that_cannot_be_read_are_told_when_the_store_is_built
    [{ ca_file: "/nowhere.pem" }, { "ca_path" => "/nowhere" }].each do |params|
      error = assert_raises(Tiercel::ConfigurationError) { build(place(1), ssl_params: params) }
      assert_match(%r{ssl_params: ca_\w+: "/nowhere(.pem)?" is not there}, error.message)
    end
  end

  def test_what_no_tls_can_be_made_of_is_told_without_what_is_secret
    [{ ca_file: __FILE__ }, { shoe_size: "secret" }, { key: "secret", cert: "secret" }, { verify_mode: "secret" },
     { ca_file: "/" }, 3].each do |params|
      error = assert_raises(Tiercel::ConfigurationError, params.inspect) { build(place(1), ssl_params: params) }
      assert_match(/ssl_params: (no TLS can be made of|expected a Hash)/, error.message)
      refute_match(/secret(?!\?)/, error.message)
    end
  end
end
