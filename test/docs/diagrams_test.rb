# frozen_string_literal: true

# suites: store

require "test_helper"
require "rexml/document"
require_relative "../../rakelib/diagrams/pictures"

# The pictures in the docs equal the output of `rake diagrams`, and every picture is used in a page.
class DiagramsTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)

  Pictures.all.each do |name, svg|
    define_method("test_#{name}") do
      assert_equal File.read("#{ROOT}/docs/#{name}.svg"), svg, "type: bin/exec rake diagrams"
      picture = REXML::Document.new(svg).root
      assert_equal %w[svg img], [picture.name, picture.attributes["role"]]
      refute_empty picture.attributes["aria-label"]
      pages = Dir["#{ROOT}/{README.md,docs/*.md,ext/**/*.md}"]
      shown = pages.select { |page| File.read(page).include?("#{name}.svg)") }
      refute_empty shown, "no page shows #{name}.svg"
    end
  end
end
