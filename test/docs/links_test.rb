# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "rubygems"

# Every link between documents leads to a file and a heading that exist, and the gem's documents link only to files of the
# gem, or to GitHub.
class LinksTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  REPOSITORY = %r{\Ahttps://github\.com/tiercel/tiercel/(?:blob|tree|raw)/main/}
  FENCE = /^ *```.*?^ *```/m
  PAGES = Dir.chdir(ROOT) { Dir["*.md", "docs/**/*.md", "adr/*.md", "tiercel-lab/README.md"] }
             .grep_v(%r{\Adocs/results/}).freeze

  PAGES.each do |page|
    define_method(:"test_#{page}") do
      assert_empty(links(page).reject { |target| exists?(page, target) })
    end
  end

  def test_the_documents_of_the_gem_link_only_to_files_of_the_gem
    files = Dir.chdir(ROOT) { Gem::Specification.load("tiercel.gemspec").files }
    outside = (PAGES & files).flat_map do |page|
      links(page).grep_v(/\Ahttps?:/).map { |target| path_of(page, target) }.reject { |path| files.include?(path) }
                 .map { |path| "#{page}: #{path}" }
    end
    assert_empty outside, "use the address on GitHub"
  end

  private

  def text(page) = File.read(File.join(ROOT, page)).gsub(FENCE, "")
  def links(page) = text(page).scan(/\]\(([^)\s]+)\)/).flatten

  def exists?(page, target)
    return true if target.start_with?("http") && !target.match?(REPOSITORY)

    path = path_of(page, target)
    anchor = target[/#(.*)/, 1]
    File.exist?(File.join(ROOT, path)) && (anchor.nil? || !path.end_with?(".md") || anchors(path).include?(anchor))
  end

  def path_of(page, target)
    file = target.sub(/#.*/, "")
    return file.sub(REPOSITORY, "") if file.match?(REPOSITORY)
    return page if file.empty?

    File.expand_path(file, File.join("/", File.dirname(page))).delete_prefix("/")
  end

  # GitHub's rule: lower case, no punctuation, hyphens for spaces.
  def anchors(page)
    text(page).scan(/^#+ (.*)$/).flatten.map { |title| title.downcase.gsub(/[^\p{Alnum}\-_ ]/, "").tr(" ", "-") }
  end
end
