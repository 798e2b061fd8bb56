# frozen_string_literal: true

require_relative "../support/lab_case"

class DocumentsTest < LabCase
  def results
    comparison = compare("memory_store", "null_store", "planted_absent")
    cells = comparison.arms.map do |arm|
      if arm.name == "planted_absent"
        next Lab::Engine::Cell.new(comparison,
                                   arm).tap { |cell| cell.note("status" => "cannot run", "reason" => "no gem") }
      end
      base = arm.role == :contestant ? 500 : 1_000
      cell_of(comparison, arm, Array.new(2) { |process| Array.new(2) { |block| base + process + block } })
    end
    Lab::Engine::Summary.fill(cells, protocol: TINY)
    run = { "command" => "compare", "arguments" => ["--quick"], "seed" => 1, "protocol" => TINY.to_h,
            "started_at" => "2026-11-20T18:00:00Z" }
    { "schema" => "tiercel-lab/1", "run" => run,
      "environment" => Lab::Engine::Machine.describe.merge("pinning" => "not pinned"),
      "workload" => {}, "tables" => [], "complete" => true, "sentence" => "A hit costs 1 us.", "warnings" => ["Busy."],
      "cells" => JSON.parse(JSON.generate(cells.map { |cell| cell.record })) }
  end

  def test_a_table_and_a_plot_for_each_operation
    document = Lab::Tables::Compare::View.new(results, command: "bin/lab --quick").build
    table, twin = document.tables
    assert_equal %w[memory_store null_store planted_absent], table.rows.map { |row| row.first.to_s }
    assert_equal "cannot run: no gem", table.rows.last[1].to_s
    assert_match(/\A0\.50\dx/, table.rows[1][3].to_s)
    assert_equal [4, 4], table.blocks.map { |blocks| blocks.values.size }
    assert_equal ["null_store"], twin.rows.map { |row| row.first.to_s }
    assert_equal "A hit costs 1 us.", document.verdicts.first.sentence
  end

  def test_a_kept_run_is_rendered_again
    Dir.mktmpdir do |folder|
      kept = File.join(folder, "run.json")
      File.write(kept, JSON.generate(results))
      out = StringIO.new
      files = %w[html markdown csv].to_h { |form| [form, File.join(folder, "report.#{form}")] }
      arguments = ["report", kept, *files.flat_map { |form, file| ["--#{form}", file] }]
      assert_equal 0, Lab::CLI.run(arguments, out:, program: "bin/lab")
      assert_match(/<svg/, File.read(files["html"]))
      assert_match(/\| null_store \|/, File.read(files["markdown"]))
      assert_match(/^read: string-100b,null_store,/, File.read(files["csv"]))
      assert_equal 0, Lab::CLI.run(["report", kept], out:, program: "bin/lab")
      assert_match(/^planted_absent +cannot run: no gem$/, out.string)
      assert_equal [kept], Dir[File.join(folder, "*.json*")]
    end
  end

  def test_without_a_file_there_is_nothing_to_render
    err = StringIO.new
    assert_equal 2, Lab::CLI.run(["report"], out: StringIO.new, err:, program: "bin/lab")
    assert_match(/name a file/, err.string)
  end

  # A command under a table makes it from the same values, by the same protocol.
  def test_what_commands_of_single_tables_carry_over
    arguments = ["--quick", "--html", "a.html", "--data", "my files", "--seed=7", "--op", "read", "--url",
                 "a=redis://h:1/0"]
    words = Lab::Tables::CommandLine.shared("run" => { "arguments" => arguments })
    assert_equal ["--quick", "--data", "'my files'", "--seed=7", "--url", "a=redis://h:1/0"], words
    assert_equal "it\\'s", Lab::Tables::CommandLine.quote("it's")
  end
end
