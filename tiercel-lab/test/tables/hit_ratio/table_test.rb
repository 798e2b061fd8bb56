# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "tiercel/lab/cli"

class HitRatioCommandTest < Tiercel::TestCase
  def lab(*arguments)
    out, err = StringIO.new, StringIO.new
    code = with_tmpdir do |directory|
      Tiercel::Lab::CLI.run(["hit-ratio", *arguments, "--results", directory], out:, err:).tap do
        @recorded = Dir[File.join(directory, "**/*")].select { |path| File.file?(path) }.map { |path| File.read(path) }
      end
    end
    [code, out.string, err.string]
  end

  def test_a_table_that_says_how_it_was_made
    code, out, = lab("memory:", "--workload", "zipf-1.0", "--policy", "lru,s3_fifo", "--requests", "4000",
                      "--seeds", "a")
    assert_equal 0, code
    assert_match(/^policy or store +zipf-1.0$/, out)
    %w[LRU S3-FIFO memory:].each { |name| assert_match(/^#{name} +\d+\.\d$/, out) }
    assert_match(/^Again: .*hit-ratio memory: --workload zipf-1.0 --policy lru,s3_fifo/, out)
    assert(@recorded.any? { |text| text.include?("hit_ratio") && text.include?("S3-FIFO") })
  end

  def test_the_same_call_gives_the_same_figures
    first, second = Array.new(2) do
      lab("--workload", "scans", "--requests", "3000", "--policy", "s3_fifo")[1][/^S3-FIFO.*/]
    end
    assert_equal first, second
    refute_nil first
  end

  def test_a_plan_runs_nothing
    code, out, = lab("--plan", "--quick", "--policy", "fifo", "--workload", "sizes", "file:")
    assert_equal 0, code
    expected = ["FIFO", "file:"].map { |name| "#{name} on sizes: 1 x 200000 requests over 20000 keys" }
    assert_equal expected, out.lines(chomp: true)
  end

  def test_what_cannot_be_followed
    [%w[--workload foo], %w[--policy arc], %w[--share 2], %w[no-scheme]].each do |arguments|
      code, _, err = lab(*arguments)
      assert_equal 2, code, arguments
      assert_match(/expected/, err)
    end
  end
end
