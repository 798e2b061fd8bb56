# frozen_string_literal: true

desc "Draw the pictures of docs/ (SVG)"
task :diagrams do
  require_relative "diagrams/pictures"
  Pictures.all.each do |name, svg|
    File.write("docs/#{name}.svg", svg)
    puts "docs/#{name}.svg"
  end
end
