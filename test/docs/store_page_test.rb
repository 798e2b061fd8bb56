# frozen_string_literal: true
# suites: store

require "test_helper"

# Compares the defaults in docs/store.md with the backends'.
class StorePageTest < Tiercel::TestCase
  TEXT = File.read(File.expand_path("../../docs/store.md", __dir__))

  def test_thresholds_of_compression
    stated = row("compress_threshold").scan(/(\d+) KB on ((?:`\w+:`(?:, | and )?)+)/).flat_map do |size, names|
      names.scan(/`(\w+):`/).flatten.map { |name| [name, Integer(size) * 1024] }
    end
    assert_equal defaults(&:compress_threshold_bytes).compact, stated.to_h
  end

  def test_checksums
    stated = row("checksum")[/false on (.*?) \|/, 1].scan(/`(\w+):`/).flatten
    assert_equal defaults(&:checksum?).reject { |_, on| on }.keys.sort, stated.sort
  end

  private

  def row(option) = TEXT[/^\| `#{option}` \|.*$/]

  # @return [Hash{String => Object}] the values that the backends' instances return
  def defaults
    %w[memory shared sqlite file memcached redis].to_h do |name|
      backend = Tiercel::Backends::REGISTRY.fetch(name)
      backend = Tiercel::Backends::MemorySegment if name == "memory"
      [name, yield(backend.allocate)]
    end
  end
end
