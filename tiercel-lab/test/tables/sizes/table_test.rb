# frozen_string_literal: true

require_relative "../../support/lab_case"

class SizesCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Sizes::Table
    called "sizes", Tiercel::Lab::Tables::Sizes::Table.summary

    def protocol = LabCase::TINY
  end

  def sizes(*arguments, &) = run_command(Short, *arguments, &)

  def test_what_memcached_refuses_is_a_miss_and_has_no_time
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    sizes("--size", "2KB,1100KB", "--store", "mem_cache_store_as_shipped#compress=false", "--store",
          "memory_store") do |code, command|
      assert_equal 0, code, command.err.string
      assert_empty SCHEMA.errors(command.results)
      assert_match(/^mem_cache_store_as_shipped#compress=false +misses: .*up to 1 MB/, command.out.string)
      assert_match(/^mem_cache_store_as_shipped#compress=false +[\d,.]+ us/, command.out.string)
      assert_match(/1 cell misses and has no time\./, command.out.string)
      refute_match(/\d us/, command.out.string[/^mem_cache_store_as_shipped#compress=false +misses.*/])
    end
  end

  def test_stores_that_forget_or_lie_have_no_time_and_fail_the_run
    sizes("--require", PLANTED, "--size", "512B", "--store", "memory_store", "--store", "planted_forgetful", "--store",
          "planted_tiring") do |code, command|
      assert_equal 4, code
      assert_match(/^planted_forgetful +misses: /, command.out.string)
    end
  end

  # The third article's file server is measured if a mount is given; any folder stands for one here. Otherwise its row
  # has a reason.
  def test_the_row_of_the_file_server_and_any_size
    sizes("--quick", "--size", "2KB", "--store", "memory_store") do |code, command|
      assert_equal 0, code, command.err.string
      assert_match(/^file_store:DIR \(NFS\) +n\/a \[1\] .* 0\.220 ms/, command.out.string)
      assert_match(/^\[1\] not measured: it needs a mount; bin\/lab sizes --dir \/mnt\/nfs$/, command.out.string)
    end
    Dir.mktmpdir do |mount|
      sizes("--size", "2KB,700", "--store", "memory_store", "--dir", mount) do |code, command|
        assert_equal 0, code, command.err.string
        assert_equal %w[html-2kb html-700b], command.results["cells"].map { |cell| cell["value"] }.uniq
        assert_includes command.document.tables.last.title, "a hit by size"
        assert_match(/^file_store:#{Regexp.escape(mount)} +[\d,.]+ us .* 0\.220 ms/, command.out.string)
        refute_match(/it needs a mount/, command.out.string)
        assert_empty Dir.children(mount)
      end
    end
  end

  def test_what_makes_no_sense_is_refused
    assert_refused(["sizes", "--size", "big"] => /512B, 20KB or 2MB/,
                   ["sizes", "--dir", "/no/such/folder"] => /folder \/no\/such\S* does not exist/,
                   ["sizes", "--size", "0KB"] => /at least 1 byte/)
  end
end
