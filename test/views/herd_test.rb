# frozen_string_literal: true

# suites: store

require_relative "support"
require "tiercel/lab/servers"

# Many threads of several processes ask for what is not cached, on every backend.
class ViewHerdTest < ViewTest
  PROCESSES = 4
  THREADS = 20

  def test_memory
    assert_equal PROCESSES, renderings_of_a_fragment("memory:"), "one in each process"
  end

  def test_shared
    in_segment { |url| assert_once(url) }
  end

  def test_sqlite
    with_tmpdir { |dir| assert_once("sqlite:#{dir}/cache.sqlite3?timeout=20") }
  end

  def test_file
    with_tmpdir { |dir| assert_once("file:#{dir}/cache?timeout=20") }
  end

  def test_redis
    Tiercel::Lab::Servers::Redis.run { |server| assert_once(patient(server)) }
  end

  def test_memcached
    Tiercel::Lab::Servers::Memcached.run { |server| assert_once(patient(server)) }
  end

  def test_tiers
    Tiercel::Lab::Servers::Redis.run { |server| in_segment { |url| assert_once(url, patient(server)) } }
  end

  # Four processes render a list of 50 items, of which 40 are missing.
  def test_a_collection
    in_segment { |url| assert_few_renderings(url) }
    Tiercel::Lab::Servers::Redis.run { |server| assert_few_renderings(patient(server)) }
  end

  private

  def assert_few_renderings(*urls)
    products = Array.new(50) { |index| Product.new(index + 1, "name", 1) }
    rendered = count do |log|
      at_once(urls, 1) do |cache, index|
        ActionView::PartialRenderer.collection_cache = cache
        page = controller(store: cache, "_product" => "<% rendering(product.id) %><%= product.id %>,",
                          "index" => "<%= render partial: 'product', collection: @products, cached: true %>") do
          before_action { @products = products }
        end
        products, whole = products.first(10), products
        get(page) if index.zero?
        products = whole
        self.on_render = ->(id) { log.call(id) && sleep(0.01) && nil }
        -> { get(page) == products.map { |product| "#{product.id}," }.join }
      end
    end
    assert_equal (11..50).to_a, rendered.map(&:to_i).uniq.sort
    assert_operator rendered.size, :<=, 44, rendered.tally.select { |_, times| times > 1 }.inspect
  end

  # On a busy machine a call may take longer than its usual budget (so do those of disks), and a call that fails is a
  # miss.
  def patient(server) = "#{server.url}?timeout=20&pool=20"

  def in_segment
    with_tmpdir { |dir| yield "shared:#{dir}/segment?size=16MB" }
  end

  def assert_once(*urls) = assert_equal(1, renderings_of_a_fragment(*urls))

  def renderings_of_a_fragment(*urls)
    count do |log|
      at_once(urls, THREADS) do |cache|
        # The other requests arrive during the rendering, or later; the fragment is rendered once in both cases.
        self.on_render = ->(_) { log.call("fragment") && sleep(0.2) && nil }
        page = controller(store: cache,
                          "index" => "<% cache 'box' do %><% rendering %>text<% end %>")
        -> { get(page) == "text" }
      end
    end.size
  end

  # @return [Array<String>] what the processes logged
  def count
    with_tmpdir do |dir|
      path = "#{dir}/log"
      File.write(path, "")
      yield ->(line) { File.open(path, "a") { |file| file.syswrite("#{line}\n") } }
      File.readlines(path, chomp: true)
    end
  end

  # @yield in each process: builds what its threads call
  # @yieldreturn [Proc] called by each thread, after all processes are ready
  # @return [Array<Array>] the results by process
  def at_once(urls, threads)
    ready, ready_in = IO.pipe
    go, go_in = IO.pipe
    starter = Thread.new do
      PROCESSES.times { ready.read(1) }
      go_in.close
    end
    results = fork_and_wait(PROCESSES) do |index|
      go_in.close
      call = yield(Tiercel.new(*urls, namespace: "herd"), index)
      ready_in.write(".")
      go.read
      Array.new(threads) { Thread.new(&call) }.map(&:value).tap { FileUtils.rm_rf(@folders) } # the child's own
    end
    assert(results.flatten(1).all?, results.inspect)
    results
  ensure
    starter&.kill
    [ready, ready_in, go, go_in].each(&:close)
  end
end
