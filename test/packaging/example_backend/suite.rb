# frozen_string_literal: true

# The test suite of the example gem, as its author would write it. other_backend_test.rb runs it with both gems
# installed.

require "minitest/autorun"
require "tmpdir"
require "tiercel-example"
require "tiercel/contracts/backend_contract"
require "active_support/cache/tiercel_store"

module Place
  def before_setup
    super
    @dir = Dir.mktmpdir("tiercel-example-")
  end

  def after_teardown
    super
    FileUtils.rm_rf(@dir)
  end

  def url = "example:#{@dir}/entries"
end

class ExampleBackendTest < Minitest::Test
  include Place
  include Tiercel::Contracts::BackendContract

  def build_backend = Tiercel::Backends::REGISTRY.fetch(:example).build(Tiercel::BackendURL.parse(url), {})
  def build_peer = build_backend
end

class ExampleStoreTest < Minitest::Test
  include Place

  def store = @store ||= Tiercel.new(url, error_handler: ->(exception:, **) { raise exception })

  def test_of_several_processes_one_computes
    values = in_processes(4) { |index| store.fetch("name") { sleep 0.2; "made by #{index}" } }
    assert_equal 1, values.uniq.size
    assert_match(/\Amade by \d\z/, values.first)
  end

  def test_what_is_deleted_while_its_block_runs_is_not_stored
    assert_equal "old", store.fetch("name") { in_processes(1) { store.delete("name") } && "old" }
    assert_nil store.read("name")
  end

  def test_tags
    store.fetch("page", tags: %w[one two]) { "old" }
    assert_equal "old", store.read("page")
    in_processes(1) { store.invalidate_tags("two") }
    assert_nil store.read("page")
    assert_equal "new", store.fetch("page", tags: %w[one two]) { "new" }
    assert_equal({ "page" => "new" }, store.read_multi("page", "none"))
  end

  private

  # Runs the block in several concurrent processes.
  #
  # @return [Array<String>] the blocks' results
  def in_processes(count)
    pipes = Array.new(count) do |index|
      reader, writer = IO.pipe
      fork do
        writer.write(yield(index).to_s)
        writer.close
        exit!(0)
      end
      writer.close
      reader
    end
    pipes.map(&:read).tap { Process.waitall }
  end
end
